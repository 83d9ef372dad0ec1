export const sync = ({a, b}) => ({one: 1, half: 3 / 2, negative: -3, large: Number.MAX_SAFE_INTEGER, product: a * b});
