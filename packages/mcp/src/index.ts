export { joinExternalTools } from './client/join-external-tools.ts'
export {
  addressOf,
  type Environment,
  type McpHttpSpec,
  type McpProgramSpec,
  type McpServerSpec,
} from './client/server-spec.ts'
export { mcpReportFile, type McpReport, readMcpReport } from './client/status-file.ts'
export { type McpServerState, type McpServerStatus } from './client/server-status.ts'
export { type McpConnections, type McpOptions, startMcpServers } from './client/start-mcp-servers.ts'
export { mcpLoginsFolder } from './oauth/login-file.ts'
export { logIn, loginPlace } from './oauth/log-in.ts'
export { logOut, type Revocation } from './oauth/log-out.ts'
export { approvePins, isNew, type Pin } from './pins/pin.ts'
export { changePins, mcpPinsFile, type PinsRead, readPins } from './pins/pin-keeper.ts'
export { isMcpCategory, mcpCategories, type McpCategory, type McpCategoryId } from './own-server.ts'
export { type HttpServing, serveMcpHttp, serveMcpStdio, type Serving } from './server/serve-mcp.ts'
export { type McpTask, type McpTasks, offerTasks, taskAnswer, takesTasks } from './server/task-extension.ts'
export {
  type AskingWorkflow,
  type CallError,
  type AnswersTo,
  type WorkflowAnswers,
  type WorkflowCaller,
  type WorkflowCallOptions,
  type WorkflowCallResult,
  type WorkflowOutcome,
  type WorkflowProgress,
  type WorkflowQuestion,
  type WorkflowTask,
  type WorkflowTaskResult,
  type WorkflowTasks,
} from './server/workflow-caller.ts'
export { workflowServers, type WorkflowServerOptions } from './server/workflow-server.ts'
