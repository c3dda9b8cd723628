export { builtinTools } from './builtin-tools.ts'
export {
  loadOwnTools,
  loadToolset,
  planTask,
  readAgain,
  taskWorkflows,
  type Toolset,
  type ToolsetPlaces,
  workflowNamed,
} from './load-toolset.ts'
export { type BuiltinToolConfig, builtinToolOptions, type BuiltinToolOptions } from './options.ts'
export { configuredRuleFaults, ruleFaultText } from './rule-diagnostics.ts'
