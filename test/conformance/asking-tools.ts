// The tools and the prompt of the conformance suite of MCP that ask their client something before they
// answer.
import { randomBytes } from 'node:crypto'
import {
  acceptedContent,
  type CallToolResult,
  createRequestStateCodec,
  type InputRequests,
  inputRequired,
  type InputRequiredResult,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { z } from 'zod'

/** What a tool remembers between its rounds goes through the client, sealed. */
export const stateCodec = createRequestStateCodec<{
  readonly tool: string
  readonly round?: number
  readonly name?: string
}>({ key: randomBytes(32) })

const text = (said: string): CallToolResult => ({ content: [{ type: 'text', text: said }] })

const string = { type: 'string' as const }
const elicit = (
  message: string,
  field: string,
  type: typeof string | { readonly type: 'boolean' } = string,
) =>
  inputRequired.elicit({
    message,
    requestedSchema: { type: 'object', properties: { [field]: type }, required: [field] },
  })
const askName = elicit('What is your name?', 'name')
const askCompletion = (said: string) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: said } }],
    maxTokens: 50,
  })

const envelope = z.looseObject({ 'io.modelcontextprotocol/clientCapabilities': z.looseObject({}) })
const sampled = z.looseObject({ content: z.looseObject({ text: z.string() }) })
const listedRoots = z.looseObject({ roots: z.array(z.looseObject({ uri: z.string() })) })

const nameIn = ({ mcpReq }: ServerContext, key: string, field = 'name'): string | undefined =>
  z.string().safeParse(acceptedContent(mcpReq.inputResponses, key)?.[field]).data
const completionIn = ({ mcpReq }: ServerContext, key: string): string | undefined =>
  sampled.safeParse(mcpReq.inputResponses?.[key]).data?.content.text
const rootsIn = ({ mcpReq }: ServerContext, key: string): readonly { uri: string }[] | undefined =>
  listedRoots.safeParse(mcpReq.inputResponses?.[key]).data?.roots

type Answer = CallToolResult | InputRequiredResult
type Ask = (context: ServerContext) => Answer | Promise<Answer>

const asking = (inputRequests: InputRequests, requestState?: string): InputRequiredResult =>
  inputRequired({ inputRequests, ...(requestState === undefined ? {} : { requestState }) })

const rounds: Ask = async (context) => {
  const state = context.mcpReq.requestState<{ round?: number; name?: string }>()
  const { round = 0, name = 'unknown' } = state ?? {}
  if (round === 0)
    return asking(
      { step1: elicit('Step 1: What is your name?', 'name') },
      await stateCodec.mint({ tool: 'rounds', round: 1 }),
    )
  if (round === 1) {
    const sealed = await stateCodec.mint({ tool: 'rounds', round: 2, name: nameIn(context, 'step1') ?? name })
    return asking({ step2: elicit('Step 2: What is your favorite color?', 'color') }, sealed)
  }
  return text(`${name} likes ${nameIn(context, 'step2', 'color') ?? 'nothing'}.`)
}

const confirmed: Ask = async ({ mcpReq }) => {
  const state = mcpReq.requestState()
  if (state !== undefined && acceptedContent(mcpReq.inputResponses, 'confirm') !== undefined)
    return text('state-ok')
  return asking(
    { confirm: elicit('Please confirm', 'ok', { type: 'boolean' }) },
    await stateCodec.mint({ tool: 'confirmed' }),
  )
}

const several: Ask = async (context) => {
  const [name, greeting, roots] = [
    nameIn(context, 'user_name'),
    completionIn(context, 'greeting'),
    rootsIn(context, 'client_roots'),
  ]
  if (name !== undefined && greeting !== undefined && roots !== undefined)
    return text(`${greeting} ${name}, ${roots.length} roots.`)
  const all = {
    user_name: askName,
    greeting: askCompletion('Generate a greeting'),
    client_roots: inputRequired.listRoots(),
  }
  return asking(all, await stateCodec.mint({ tool: 'several' }))
}

/** Asks only what the client said that it can answer. */
const capable: Ask = ({ mcpReq }) => {
  if (mcpReq.inputResponses !== undefined) return text('Thank you.')
  const declared =
    envelope.safeParse(mcpReq.envelope).data?.['io.modelcontextprotocol/clientCapabilities'] ?? {}
  const asked: InputRequests = {
    ...('elicitation' in declared ? { user_name: askName } : {}),
    ...('sampling' in declared ? { greeting: askCompletion('Generate a greeting') } : {}),
    ...('roots' in declared ? { client_roots: inputRequired.listRoots() } : {}),
  }
  return Object.keys(asked).length === 0 ? text('There is nothing to ask.') : asking(asked)
}

const tools: Readonly<Record<string, Ask>> = {
  test_input_required_result_elicitation(context) {
    const name = nameIn(context, 'user_name')
    return name === undefined ? asking({ user_name: askName }) : text(`Hello, ${name}!`)
  },
  test_input_required_result_sampling(context) {
    const said = completionIn(context, 'capital_question')
    return said === undefined
      ? asking({ capital_question: askCompletion('What is the capital of France?') })
      : text(said)
  },
  test_input_required_result_list_roots(context) {
    const roots = rootsIn(context, 'client_roots')
    return roots === undefined
      ? asking({ client_roots: inputRequired.listRoots() })
      : text(roots.map(({ uri }) => uri).join(', '))
  },
  test_input_required_result_request_state: confirmed,
  test_input_required_result_tampered_state: confirmed,
  test_input_required_result_multiple_inputs: several,
  test_input_required_result_multi_round: rounds,
  test_input_required_result_capabilities: capable,
  test_missing_capability: (context) =>
    completionIn(context, 'llm_answer') === undefined
      ? asking({ llm_answer: askCompletion('Reply: pong') })
      : text('pong'),
  // The same idea in the words of 2025: the SDK turns it into requests of the server.
  test_sampling: (context) =>
    completionIn(context, 'said') === undefined
      ? asking({ said: askCompletion('Say it.') })
      : text('LLM response: said'),
  test_elicitation: (context) =>
    context.mcpReq.inputResponses === undefined
      ? asking({ said: elicit('Say it.', 'response') })
      : text('User response: accept'),
}

export function addAskingTools(server: McpServer): void {
  for (const [name, ask] of Object.entries(tools))
    server.registerTool(name, { description: name, inputSchema: z.looseObject({}) }, async (_, context) =>
      ask(context),
    )
  server.registerPrompt(
    'test_input_required_result_prompt',
    { description: 'Asks.', argsSchema: z.object({}) },
    async (_, context) => {
      const said = nameIn(context, 'user_context', 'context')
      if (said === undefined)
        return asking({ user_context: elicit('What context should the prompt use?', 'context') })
      return {
        messages: [
          { role: 'user' as const, content: { type: 'text' as const, text: `Use this context: ${said}` } },
        ],
      }
    },
  )
}
