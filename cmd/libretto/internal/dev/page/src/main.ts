import { start } from "./app.ts";
import { http } from "./backend.ts";

start(document.getElementById("page")!, http());
