// The model of a fault campaign: what it answers follows from the conversation alone, so every run can be
// told whether it went right. It remembers every question, to tell later which of them was asked although its
// answer was already in the journal. A question is a conversation; a campaign's tasks all differ in their
// text, so equal questions come from one turn of one run. Each answer has an id of its own, which the journal
// records.
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type FakeProvider,
  type FakeReply,
  fakeProvider,
  refuse,
  type SeenRequest,
} from '../support/fake-provider.ts'
import type { Random } from './random.ts'

export type Outage = 'provider_503' | 'provider_hang' | 'provider_reset'

/** One request for an answer. */
export interface Asked {
  readonly question: string
  readonly at: number
  readonly responseId: string
}

export interface CampaignModel extends AsyncDisposable {
  readonly url: string
  outage: Outage | null
  /** Requests so far, outages included. */
  readonly requests: number
  /** All requests that were answered, by the id of the answer. */
  readonly answered: ReadonlyMap<string, Asked>
  /** The same, by question. */
  readonly byQuestion: ReadonlyMap<string, readonly Asked[]>
}

/** What a task tells the model to do: it stands in the task's text. */
export interface Script {
  readonly op: string
  /** Tools that each run of the task calls one after the other. `+` joins calls of one answer. */
  readonly tools: readonly string[]
  /** Length of the final answer in characters. */
  readonly chars?: number
  /** The root calls this workflow first. */
  readonly workflow?: string
  readonly agents?: number
}

/** A task's text. */
export const taskText = (script: Script): string => `Do as the script says. [[${JSON.stringify(script)}]]`

export async function campaignModel(random: Random): Promise<CampaignModel> {
  const provider: FakeProvider = await fakeProvider()
  const answered = new Map<string, Asked>()
  const byQuestion = new Map<string, Asked[]>()
  let requests = 0
  const model = {
    url: provider.url,
    outage: null as Outage | null,
    get requests() {
      return requests
    },
    answered,
    byQuestion,
    [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose](),
  }
  provider.answerBy(async (request) => {
    const at = Date.now()
    const number = ++requests
    if (requests % 500 === 0) provider.forget()
    if (model.outage === null) await sleep(10 + random.next() * 150)
    if (model.outage === 'provider_503') return refuse(503, 'The campaign took the model away.')
    if (model.outage === 'provider_hang') return null
    if (model.outage === 'provider_reset') return { body: '{', cut: true }
    const question = createHash('sha1').update(JSON.stringify(request.messages)).digest('base64')
    const asked = { question, at, responseId: `answer-${number}` }
    answered.set(asked.responseId, asked)
    const before = byQuestion.get(question)
    if (before === undefined) byQuestion.set(question, [asked])
    else before.push(asked)
    return answerOf(request, asked.responseId)
  })
  return model
}

function answerOf(request: SeenRequest, responseId: string): FakeReply {
  const script = scriptOf(request.text)
  const about = request.messages.findLastIndex(({ role }) => role === 'user')
  const results = request.messages.slice(about).filter(({ role }) => role === 'tool')
  const part = /<instruction [^>]*>\s*Do part (\S+)\.\s*<\/instruction /.exec(request.text)?.[1] ?? 'root'
  const turns = request.messages
    .slice(about)
    .filter(({ role, tool_calls }) => role === 'assistant' && (tool_calls?.length ?? 0) > 0).length
  const tools = script.workflow !== undefined && part === 'root' ? [script.workflow] : script.tools
  const next = tools[turns]
  if (next === undefined) {
    const failed = results.filter(({ content }) => content?.startsWith('{"error"') === true).length
    const text = `Part ${part} of ${script.op} is done with ${results.length} results, ${failed} of them failed. `
    return send(request, responseId, { content: text.padEnd(script.chars ?? 0, `${script.op} `) }, 'stop')
  }
  const calls = next.split('+').map((name, i) => ({
    id: `call_${turns}_${i}`,
    type: 'function',
    function: {
      name,
      arguments: JSON.stringify(argumentsOf(name, script, `${script.op}/${part}/${turns}.${i}`)),
    },
  }))
  return send(request, responseId, { content: null, tool_calls: calls }, 'tool_calls')
}

function scriptOf(text: string): Script {
  const json = /\[\[(\{.*?\})\]\]/s.exec(text)?.[1]
  return json === undefined ? { op: 'unknown', tools: [] } : (JSON.parse(json) as Script)
}

function argumentsOf(tool: string, script: Script, key: string): object {
  if (tool === script.workflow)
    return workflowArguments(tool, taskText({ op: script.op, tools: script.tools }), script.agents ?? 3)
  if (tool === 'echo') return { text: key }
  if (tool === 'memory') return { action: 'add', target: 'memory', content: `Fact ${key}` }
  if (tool === 'ledger_write') return { key, ...(script.chars === undefined ? {} : { chars: script.chars }) }
  return tool.startsWith('tool_') ? {} : { key }
}

/** The arguments of a workflow with so many agents. Each does a part of its own. */
export function workflowArguments(workflow: string, task: string, agents: number): Record<string, unknown> {
  const names = Array.from({ length: agents }, (_, i) => `a${i}`)
  const specs = names.map((name) => ({ name, instruction: `Do part ${name}.` }))
  switch (workflow) {
    case 'MixtureOfAgents':
      return { task, agents: specs, aggregator: { name: 'sum', instruction: 'Do part sum.' } }
    case 'AgentRearrange':
      return { task, agents: specs, flow: `${names[0]} -> ${names.slice(1).join(', ')}` }
    case 'GraphWorkflow':
      return {
        task,
        agents: specs,
        edges: names.slice(1).map((name, i) => [names[Math.floor(i / 2)], name]),
        output_agent: names.at(-1),
      }
    default:
      return { task, agents: specs }
  }
}

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

function send(
  request: SeenRequest,
  id: string,
  message: { content: string | null; tool_calls?: readonly object[] },
  finish_reason: string,
): FakeReply {
  const head = { id, model: 'fake-model' }
  if (!request.stream) {
    const choices = [{ index: 0, finish_reason, message: { role: 'assistant', ...message } }]
    return { body: JSON.stringify({ ...head, object: 'chat.completion', choices, usage }) }
  }
  const chunk = (delta: object, reason: string | null = null): string =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`
  const calls = message.tool_calls?.map((call, index) => ({ index, ...call }))
  const pieces = message.content?.match(/.{1,400}/gs)?.map((content) => chunk({ content })) ?? []
  const body = [
    chunk({ role: 'assistant' }),
    ...pieces,
    ...(calls === undefined ? [] : [chunk({ tool_calls: calls })]),
    chunk({}, finish_reason),
  ].join('')
  return { headers: { 'content-type': 'text/event-stream' }, body: `${body}data: [DONE]\n\n` }
}
