import { nextTick } from "vue";
import theme from "vitepress/theme-without-fonts";
import "./style.css";

export default {
  extends: theme,
  enhanceApp({ router }) {
    if (import.meta.env.SSR) {
      return;
    }
    // The row that a result of the search leads to is focused, as when its address is opened: the style shows it, and Tab goes on from there.
    router.onAfterRouteChange = () => nextTick(() => {
      const row = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (row?.classList.contains("row-anchor")) {
        row.focus();
      }
    });
  },
};
