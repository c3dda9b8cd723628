// The names of spans and attributes: the OpenTelemetry semantic conventions for generative AI, version 0.1.0
// (github.com/open-telemetry/semantic-conventions-genai, all of them in development), and our own, which
// begin with "beaver.". They are written here because the package with the conventions has older names.

/** @param name of an attribute that the conventions do not have */
const own = <Name extends string>(name: Name) => `beaver.${name}` as const

export const names = {
  operation: 'gen_ai.operation.name',
  agent: 'gen_ai.agent.name',
  conversation: 'gen_ai.conversation.id',
  provider: 'gen_ai.provider.name',
  requestModel: 'gen_ai.request.model',
  responseModel: 'gen_ai.response.model',
  responseId: 'gen_ai.response.id',
  finishReasons: 'gen_ai.response.finish_reasons',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cachedTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_write.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  tool: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  toolCall: 'gen_ai.tool.call.id',
  toolArguments: 'gen_ai.tool.call.arguments',
  toolResult: 'gen_ai.tool.call.result',
  output: 'gen_ai.output.messages',
  error: 'error.type',
  httpStatus: 'http.response.status_code',
  task: own('task.id'),
  taskStatus: own('task.status'),
  claims: own('task.claims'),
  run: own('run.id'),
  node: own('node.id'),
  attempt: own('attempt'),
  team: own('team.id'),
  nodes: own('team.nodes'),
  outcome: own('team.outcome'),
  purpose: own('model_call.purpose'),
  tries: own('model_call.tries'),
  endpoint: own('endpoint'),
  starts: own('tool.starts'),
  waitsFor: own('waits_for'),
  budget: own('budget'),
  percent: own('budget.percent'),
  link: own('link'),
} as const
