// The functions of a client of OpenAI, as tools that it brings with its task: `tools` and `tool_choice` of chat
// completions and Responses. OpenAI's own tools (web_search, file_search, …) are refused by name, because no
// agent of Beaver has them.
// - `tool_choice` is about the functions of the client alone. With "none" the agent has none of them, and with
//   "required" its next answer calls one of them. The agent keeps the tools of its profile.
// - A task keeps the tools with which it began. A request that answers calls chooses among them: it may have
//   fewer of them, and a `tool_choice` of its own.
import { submitRequest, type SubmitTask } from '@beaver/contracts'
import { canonicalJson, type ClientTool, type DataOf, type JsonObject, type JsonValue } from '@beaver/core'
import { schemaFault } from '@beaver/core/evidence'
import { z } from 'zod'
import { agentOf, isWorkflow } from '../agents.ts'
import { invalid } from './conversation.ts'
import { OpenAiError } from './openai-error.ts'
import { type AskedSetting, mustKeepSettings } from './settings.ts'

/** The parameters of both interfaces that are about functions. */
export const toolParameters = {
  tools: z
    .array(z.looseObject({ type: z.string().max(100) }))
    .nullish()
    .describe('The functions of the client, which the root agent may call. Other types are refused.'),
  tool_choice: z
    .unknown()
    .optional()
    .describe(
      'auto, none, required, a function, or allowed_tools: which of these functions the next answer calls. Default: auto.',
    ),
  parallel_tool_calls: z
    .boolean()
    .nullish()
    .describe('false: a response has one call at most. Default: true.'),
}

interface ToolRequest {
  readonly model: string
  readonly tools?: readonly { readonly type: string }[] | null | undefined
  readonly tool_choice?: unknown
}

type GivenTool = NonNullable<SubmitTask['client_tools']>[number]
export type ToolFields = Pick<SubmitTask, 'client_tools' | 'tool_choice'>

const looseFunction = z.looseObject({
  name: z.unknown(),
  description: z.unknown().optional(),
  parameters: z.unknown().optional(),
  strict: z.boolean().nullish(),
})

/**
 * The tools of a task, and which of them its first answer must call.
 *
 * @throws {OpenAiError} `unsupported_value`, `unsupported_parameter`, `invalid_value`
 */
export function toolsOf(body: ToolRequest): ToolFields {
  const choice = choiceOf(body.tool_choice)
  if (choice.kind === 'none') return {}
  const tools = (body.tools ?? []).map((tool, i) => functionOf(tool, `tools[${i}]`))
  const read = submitRequest.shape.client_tools.safeParse(tools)
  const [issue] = read.error?.issues ?? []
  if (issue !== undefined) throw invalid(placeOf(body.tools ?? [], issue.path), faultText(tools, issue))
  const known = new Set(tools.map(({ name }) => name))
  const unknown = choice.names?.find((name) => !known.has(name))
  if (unknown !== undefined)
    throw invalid('tool_choice', `Tool choice ${JSON.stringify(unknown)} not found in "tools".`)
  if (tools.length === 0 && choice.kind === 'required')
    throw invalid('tool_choice', '"tool_choice" needs "tools", and there are none. Leave it out.')
  if (tools.length === 0) return {}
  if (isWorkflow(body.model))
    throw new OpenAiError(
      400,
      'unsupported_parameter',
      '"tools" is not supported: a workflow has no root agent that could call them. Leave it out, or set "tool_choice" to "none".',
      { param: 'tools' },
    )
  const all = tools.map(({ name }) => name)
  const chosen = choice.names ?? all
  const except = all.filter((name) => !chosen.includes(name))
  if (choice.kind === 'required')
    return { client_tools: tools, tool_choice: { mode: 'required', names: [...chosen] } }
  return { client_tools: tools, ...(except.length === 0 ? {} : { tool_choice: { mode: 'auto', except } }) }
}

/**
 * Which tools the root agent may or must call after the answers of its calls. `undefined`: it chooses.
 *
 * @throws {OpenAiError} as `toolsOf`
 */
export function choiceAfterAnswers(
  body: ToolRequest,
  { request }: Pick<DataOf<'task_submitted'>, 'request'>,
): ToolFields['tool_choice'] {
  const { client_tools: given = [], tool_choice: choice } = toolsOf(body)
  if (typeof choice === 'object' && choice.mode === 'required') return choice
  const not = typeof choice === 'object' && 'except' in choice ? choice.except : []
  const may = new Set(given.map(({ name }) => name).filter((name) => !not.includes(name)))
  const except = (request.client_tools ?? []).map(({ name }) => name).filter((name) => !may.has(name))
  if (except.length > 0) return { mode: 'auto', except }
  return request.tool_choice === undefined ? undefined : 'auto'
}

/** @throws {OpenAiError} */
function functionOf(tool: { readonly type: string }, at: string): GivenTool {
  if (tool.type !== 'function')
    throw new OpenAiError(
      400,
      'unsupported_value',
      `Tools of the type ${JSON.stringify(tool.type)} are not supported: Beaver's agents have the tools of their profile, and the client can bring functions. Leave it out.`,
      { param: `${at}.type` },
    )
  // Chat completions have an object "function". Responses have its fields in the tool itself.
  const inner = 'function' in tool ? tool.function : tool
  const where = 'function' in tool ? `${at}.function` : at
  const read = looseFunction.safeParse(inner)
  const [issue] = read.error?.issues ?? []
  if (issue !== undefined || !read.success)
    throw invalid(
      [where, ...(issue?.path ?? [])].join('.'),
      `${where} is not a function: ${issue?.message ?? ''}.`,
    )
  const { name, description, parameters, strict } = read.data
  const schema = parameters ?? undefined
  const named = typeof name === 'string' ? JSON.stringify(name.slice(0, 64)) : at
  if (typeof schema === 'object' && 'type' in schema && schema.type !== 'object')
    throw invalid(
      `${where}.parameters`,
      `Invalid schema for function ${named}: the arguments of a function are an object, so "type" must be "object".`,
    )
  const fault = strict === true ? strictFault(schema) : null
  if (fault !== null)
    throw invalid(
      `${where}.parameters`,
      `Invalid schema for function ${named}: ${fault}. Beaver cannot check all arguments against it, as "strict" asks. Change it, or leave "strict" out.`,
    )
  return {
    name: name as string,
    ...(description === undefined || description === null ? {} : { description: description as string }),
    ...(schema === undefined ? {} : { parameters: schema as JsonObject }),
  }
}

function strictFault(schema: unknown): string | null {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return null
  const fault = schemaFault(schema as JsonObject)
  return fault === null ? null : ['/' + fault.path.join('/'), fault.message].join(' ')
}

function placeOf(tools: readonly { readonly type: string }[], [at, field]: readonly PropertyKey[]): string {
  if (typeof at !== 'number') return 'tools'
  const tool = tools[at]
  const where = tool !== undefined && 'function' in tool ? `tools[${at}].function` : `tools[${at}]`
  return field === undefined ? where : `${where}.${String(field)}`
}

function faultText(
  tools: readonly GivenTool[],
  { message, path }: { readonly message: string; readonly path: readonly PropertyKey[] },
): string {
  const names = tools.map(({ name }) => name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (path.length === 0 && twice !== undefined && tools.length <= 128)
    return `"tools" has two functions of the name ${JSON.stringify(twice)}. Give each a name of its own.`
  const what = ['"tools"', ...path].map(String).join('.')
  return `The request is not valid: ${what} ${message}.`
}

interface Choice {
  readonly kind: 'auto' | 'none' | 'required'
  /** The functions that it names. `null`: all. */
  readonly names: readonly string[] | null
}

const nameOf = z.union([
  z.looseObject({ type: z.literal('function'), function: z.looseObject({ name: z.string() }) }),
  z.looseObject({ type: z.literal('function'), name: z.string() }),
])
const allowed = z.looseObject({ mode: z.enum(['auto', 'required']), tools: z.array(nameOf).min(1).max(128) })
const objectChoice = z.union([
  nameOf,
  z.looseObject({ type: z.literal('allowed_tools'), allowed_tools: allowed }),
  allowed.extend({ type: z.literal('allowed_tools') }),
])

const named = (each: z.infer<typeof nameOf>): string =>
  'function' in each ? (each.function as { name: string }).name : (each.name as string)

/** @throws {OpenAiError} */
function choiceOf(choice: unknown): Choice {
  if (choice === undefined || choice === null || choice === 'auto') return { kind: 'auto', names: null }
  if (choice === 'none' || choice === 'required') return { kind: choice, names: null }
  const read = objectChoice.safeParse(choice)
  if (!read.success) {
    const type = typeof choice === 'object' && 'type' in choice ? choice.type : choice
    if (typeof type === 'string' && type !== 'function' && type !== 'allowed_tools')
      throw new OpenAiError(
        400,
        'unsupported_value',
        `The tool choice ${JSON.stringify(type.slice(0, 100))} is not supported. It must be auto, none, required, a function, or allowed_tools.`,
        { param: 'tool_choice' },
      )
    throw invalid('tool_choice', '"tool_choice" must be auto, none, required, a function, or allowed_tools.')
  }
  const { data } = read
  if (data.type === 'function') return { kind: 'required', names: [named(data)] }
  const { mode, tools } = ('allowed_tools' in data ? data.allowed_tools : data) as z.infer<typeof allowed>
  return { kind: mode, names: tools.map(named) }
}

/**
 * Checks that a request which answers calls asks for nothing that its task cannot do any more.
 *
 * @param format the schema that the request asks for. `null`: any text
 * @throws {OpenAiError} `unsupported_value`
 */
export function mustFitTask(
  body: ToolRequest,
  { request }: Pick<DataOf<'task_submitted'>, 'request'>,
  {
    schema,
    formatParam,
    settings,
  }: {
    readonly schema: JsonObject | null
    readonly formatParam: string
    readonly settings: readonly AskedSetting[]
  },
): void {
  const refuse = (param: string, message: string): never => {
    throw new OpenAiError(400, 'unsupported_value', message, { param })
  }
  if (body.model !== agentOf(request))
    refuse(
      'model',
      `The calls belong to a task of the model ${JSON.stringify(agentOf(request))}. Send their answers to this model.`,
    )
  mustKeepSettings(settings, { request })
  // What it chooses is read before anything takes effect.
  toolsOf(body)
  const began = new Map((request.client_tools ?? []).map((tool) => [tool.name, told(tool)]))
  for (const [i, tool] of (toolsOf({ ...body, tool_choice: 'auto' }).client_tools ?? []).entries())
    if (
      began.get(tool.name) !== told({ ...tool, parameters: (tool.parameters ?? noArguments) as JsonObject })
    )
      refuse(
        `tools[${i}]`,
        `A task keeps the tools with which it began, and ${JSON.stringify(tool.name)} is new or was changed. Answer the calls with the same tools, or fewer.`,
      )
  if (schema !== null && canonicalJson(schema) !== canonicalJson(formatOf(request)))
    refuse(
      formatParam,
      `A task keeps the format with which it began. Answer the calls with the same "${formatParam}".`,
    )
}

/** The schema of a function that has none. */
const noArguments = { type: 'object', properties: {} }

const told = ({ name, description, parameters }: ClientTool): string =>
  canonicalJson({ name, description: description ?? null, parameters })

const formatOf = ({ output_schema: schema }: DataOf<'task_submitted'>['request']): JsonValue => schema ?? null
