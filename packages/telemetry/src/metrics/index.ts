export { closedNames } from './closed-names.ts'
export { contentType, Metrics, otherValue, type Show, valuesMax } from './metrics.ts'
export { type LabelName, labelTable, type MetricRow, metricTable, type WatchedProcess } from './table.ts'
export { watchProcess } from './watch-process.ts'
