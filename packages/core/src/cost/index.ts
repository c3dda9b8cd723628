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
export { type DatedPrice, modelPrices, type Price } from './model-prices.ts'
