// What the calls of models cost.
export {
  type CallOfModel,
  type CallPrices,
  costOf,
  exactCostAt,
  exactCostOf,
  type PriceBook,
  priceOf,
  priceOfCall,
  usdOf,
} from './cost.ts'
export {
  costOfUsage,
  noPrices,
  type PriceTable,
  priceTable,
  type UsageCost,
  type UsageOfModel,
} from './usage-cost.ts'
export { type DatedPrice, modelPrices, type Price } from './model-prices.ts'
