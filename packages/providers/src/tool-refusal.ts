// Finds the tools that a refusal names because of what they are. Servers name a tool by its name, or by its
// place in the request. A tool that the request does not have is not named, whatever the server says. A
// refusal that does not speak of the schema, the description or the name of a tool names none.
import { type RefusedTool, toolNameAtProvider, type ToolSchema } from '@beaver/agent'
import type { ServerError } from './server-error.ts'

const reasonCharsMax = 500

/** Each line: the form, and where people reported it. */
const byName = [
  // OpenAI: "Invalid schema for function 'x': In context=(), object schema missing properties."
  // (github.com/Azure/azure-mcp/issues/197)
  /(?:schema|parameters) for (?:function|tool) ['"`]?([\w.-]{1,64})['"`]?/gi,
  // Gemini through Vertex: "because `x` functionDeclaration `parameters.a` schema didn't specify the schema
  // type field" (github.com/google-gemini/gemini-cli/issues/2282)
  /['"`]?([\w.-]{1,64})['"`]? functionDeclaration ['"`]?parameters/gi,
]
const byPlace = [
  // OpenAI's `param`, chat completions and Responses: "tools[19].function.parameters", "tools[85].parameters"
  // (github.com/smallmain/vscode-unify-chat-provider/issues/162)
  // "Invalid 'tools[1].function.description': string too long" (github.com/getsentry/sentry-mcp/issues/106)
  /\btools\[(\d{1,4})\]\.(?:function\.)?(?:parameters|description|name)\b/g,
  // Anthropic, also through Bedrock and Vertex: "tools.118.custom.input_schema: JSON schema is invalid." (github.com/anthropics/claude-code/issues/7365)
  // FastAPI, as in vLLM: "body.tools.3.function.parameters: …"
  // Bedrock: "toolConfig.tools.1.member.toolSpec.inputSchema.json"
  /\btools\.(\d{1,4})\.(?:\w+\.){0,2}(?:input_?schema|parameters|description|name)\b/gi,
  // Gemini has all functions in one tool: "tools[0].function_declarations[5].parameters.properties[8].value: Cannot find field."
  // (github.com/zed-extensions/mcp-server-brave-search/issues/12)
  /\bfunction_declarations\[(\d{1,4})\]\.parameters/g,
]

/**
 * @param tools the tools of the request, in its order
 * @example refusedTools({ message: "Invalid schema for function 'add': …", param: '' }, tools) // [{ name: 'add', reason: 'Invalid schema for …' }]
 */
export function refusedTools(
  { message, param }: Pick<ServerError, 'message' | 'param'>,
  tools: readonly ToolSchema[],
): RefusedTool[] {
  const said = `${param} ${message}`
  const named = byName.flatMap((pattern) =>
    [...said.matchAll(pattern)].flatMap(([, name]) =>
      tools.filter((tool) => toolNameAtProvider(tool.name) === name),
    ),
  )
  const placed = byPlace.flatMap((pattern) =>
    [...said.matchAll(pattern)].flatMap(([, place]) => tools[Number(place)] ?? []),
  )
  // A name cannot be mistaken. A gateway may have changed the order.
  const found = new Set((named.length > 0 ? named : placed).map(({ name }) => name))
  return [...found].map((name) => ({ name, reason: message.slice(0, reasonCharsMax) }))
}
