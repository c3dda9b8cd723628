// What the calls of models cost.
export { costOf, exactCostAt, exactCostOf, type PriceBook, priceOf, usdOf } from './cost.ts'
export { type DatedPrice, modelPrices, type Price } from './model-prices.ts'
