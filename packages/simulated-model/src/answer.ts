// The simulated model: a pure function from a request to an assistant message, made of habits. It is no
// language model, and the same request gives the same answer.
import { toolNameAtProvider, type ToolSchema } from '@beaver/agent'
import type { ChatMessage } from '@beaver/core'
import { failureIn, parseJson, readConversation } from './conversation.ts'
import { followGuidance, report, teamIn } from './guidance.ts'
import {
  callTools,
  type Conversation,
  type Habit,
  type MadeCall,
  say,
  type SimulatedReply,
  type WorkOrder,
} from './habit.ts'
import { type FileList, type Known, readKnown } from './known.ts'
import { simulatedModelName } from './simulated-model-name.ts'
import { writeUp } from './write-up.ts'

// A worker's habit: it calls the tools that the instruction names, in this order and with every example, then
// writes up the results. A root agent whose text names one of its tools does the same.

const work: Habit = (conversation) => {
  const order = conversation.order ?? ownOrder(conversation)
  if (order === null) return null
  const known = readKnown(order, conversation.calls)
  for (const { tool, examples } of offered(wanted(order), conversation)) {
    if (conversation.calls.some((call) => call.name === tool.name)) continue
    const calls = argumentsFor(tool, examples, { order, known, conversation }).map((args) => ({
      name: tool.name,
      args,
    }))
    if (calls.length > 0) return callTools(conversation, calls)
  }
  const only =
    conversation.order === null && conversation.calls.length === 1 ? conversation.calls[0] : undefined
  return (only === undefined ? null : passOn(only)) ?? say(writeUp(order, conversation.calls, known))
}

/** The answer of a root agent whose only call was a workflow: the finished result of the workflow. */
function passOn(made: MadeCall): SimulatedReply | null {
  if (made.result === null || failureIn(made.result) !== null) return null
  if (teamIn(made.result) !== null) return report(made)
  return parseJson(made.result) === undefined ? say(`${made.result}\n\n${passedOn}`) : null
}

const passedOn = "Passed on as it is by Beaver's simulated model, which cannot reason about it."

/** The order of a root agent that must use its tools: from the user, its configuration, or a skill. */
function ownOrder(conversation: Conversation): WorkOrder | null {
  const { userText, own } = conversation
  const skills = conversation.skills
    .map(({ body }) => body)
    .filter((body) => !body.includes('```beaver-team-workflow'))
  const order: WorkOrder = {
    task: userText,
    instruction: [userText, own, ...skills].filter((text) => text !== '').join('\n\n'),
    dependencies: [],
    evidence: '',
  }
  return offered(namedTools(order.instruction), conversation).length === 0 ? null : order
}

/** The tools in an instruction, then those that its evidence requires. */
function wanted({ instruction, evidence }: WorkOrder): NamedTool[] {
  const named = namedTools(instruction)
  const required = [...evidence.matchAll(/^- The tool ([\w-]{1,64}) must be called/gm)].map(
    ([, name = '']) => name,
  )
  return [
    ...named,
    ...[...new Set(required)]
      .filter((name) => named.every((each) => each.name !== name))
      .map((name) => ({ name, examples: [] })),
  ]
}

function offered(
  named: readonly NamedTool[],
  { tools }: Conversation,
): { tool: ToolSchema; examples: NamedTool['examples'] }[] {
  return named.flatMap(({ name, examples }) => {
    const tool = tools.find((each) => each.name === toolNameAtProvider(name))
    return tool === undefined ? [] : [{ tool, examples }]
  })
}

interface Situation {
  readonly order: WorkOrder
  readonly known: Known
  readonly conversation: Conversation
}

/** The arguments of each call. Empty if the tool has nothing to do. */
function argumentsFor(
  tool: ToolSchema,
  examples: NamedTool['examples'],
  { order, known, conversation }: Situation,
): Record<string, unknown>[] {
  const folder = known.stats?.path ?? known.folder?.path
  switch (tool.name) {
    case 'read_file':
      if (examples.length > 0 || known.list === null) break
      return tellingFiles(known.list).map((path) => ({ path, bytes_max: 16_384 }))
    case 'file_stats':
      return examples.length > 0 ? [...examples] : [folder === undefined ? {} : { path: folder }]
    case 'recount_files':
      return [
        {
          ...(folder === undefined ? {} : { path: folder }),
          ...(known.stats === null ? {} : { expected: known.stats.totals }),
          ...examples[0],
        },
      ]
  }
  return examples.length > 0 ? [...examples] : argumentsFrom(tool, order, conversation.calls)
}

const readMax = 5

/** Files that describe a folder, best first. Earlier patterns win, then the file nearest to the folder. */
const telling: readonly RegExp[] = [
  /^readme(\.\w+)*$/i,
  /^(package\.json|cargo\.toml|pyproject\.toml|go\.mod|pom\.xml|composer\.json|gemfile|build\.gradle(\.kts)?|setup\.py|mix\.exs|deno\.json)$/i,
  /^(licen[cs]e|copying)(\.\w+)?$/i,
  /^(index|overview|introduction|about|skill|summary)\.(md|txt|rst|html)$/i,
  /^(architecture|contributing|changelog|history|agents|claude)\.md$/i,
  /^(makefile|dockerfile|docker-compose\.ya?ml|justfile)$/i,
]
const anyProse = /\.(md|txt|rst|adoc|org)$/i

function tellingFiles(list: FileList | null): string[] {
  const files = (list?.entries ?? [])
    .filter((entry) => entry.kind === 'file' && entry.bytes !== 0)
    .map((entry) => entry.path)
  const ranked = files
    .map((path) => ({ path, depth: path.split('/').length, rank: rankOf(path) }))
    .filter(({ rank, depth }) => rank !== -1 && depth - rootDepth(list) <= 2)
    .toSorted((a, b) => a.depth - b.depth || a.rank - b.rank || (a.path < b.path ? -1 : 1))
  if (ranked.length > 0) return ranked.slice(0, readMax).map(({ path }) => path)
  return files.filter((path) => anyProse.test(path)).slice(0, 2)
}

const rankOf = (path: string): number =>
  telling.findIndex((pattern) => pattern.test(path.slice(path.lastIndexOf('/') + 1)))

const rootDepth = (list: FileList | null): number =>
  list === null || list.path === '.' ? 0 : list.path.split('/').length

interface NamedTool {
  readonly name: string
  /** The different JSON objects after its name. */
  readonly examples: readonly Record<string, unknown>[]
}

/** The tools that a text names in backticks, in the order of the text. */
function namedTools(text: string): NamedTool[] {
  const found = new Map<string, Map<string, Record<string, unknown>>>()
  for (const match of text.matchAll(/`([\w:-]{1,128})`/g)) {
    const name = match[1] ?? ''
    const examples = found.get(name) ?? new Map<string, Record<string, unknown>>()
    found.set(name, examples)
    for (const example of examplesAfter(text.slice(match.index + match[0].length)))
      examples.set(JSON.stringify(example), example)
  }
  return [...found].map(([name, examples]) => ({ name, examples: [...examples.values()] }))
}

/** The JSON objects directly after a tool's name: `list_files` with {"path": "."} and {"path": "docs"} */
export function examplesAfter(after: string): Record<string, unknown>[] {
  const examples: Record<string, unknown>[] = []
  let rest = after
  for (;;) {
    const [lead] =
      /^`?[\s:,;(（，、]*(?:(?:with|using|and|then|or)\b|和|及|用|参数)?[\s:(：（]*`?(?=\{)/.exec(rest) ?? []
    const object = lead === undefined ? null : objectAt(rest, lead.length)
    if (object === null) return examples
    examples.push(object.value)
    rest = rest.slice(object.end)
  }
}

const charsMax = 4_000

function objectAt(text: string, start: number): { value: Record<string, unknown>; end: number } | null {
  for (
    let end = text.indexOf('}', start);
    end !== -1 && end < start + charsMax;
    end = text.indexOf('}', end + 1)
  ) {
    const value = parseJson(text.slice(start, end + 1))
    if (typeof value === 'object' && value !== null)
      return { value: value as Record<string, unknown>, end: end + 1 }
  }
  return null
}

interface Property {
  readonly type?: unknown
  readonly enum?: readonly unknown[]
  readonly default?: unknown
  readonly minimum?: number
}

const callsMax = 5

/**
 * The arguments for a tool without an example: what its schema requires, and its choices that the task names,
 * with values from the messages and results so far. A tool that needs a URL or a file gets one call for each
 * known one.
 */
function argumentsFrom(
  tool: ToolSchema,
  order: WorkOrder,
  calls: readonly MadeCall[],
): Record<string, unknown>[] {
  const { required, properties } = tool.parameters as {
    required?: unknown
    properties?: Record<string, Property>
  }
  const args: Record<string, unknown> = {}
  let each: { readonly name: string; readonly values: readonly string[] } | null = null
  const needed = new Set(Array.isArray(required) ? required.map(String) : [])
  for (const name of new Set([...Object.keys(properties ?? {}), ...needed])) {
    const property = properties?.[name] ?? {}
    const named = property.enum?.find((value) => typeof value === 'string' && hasWord(order.task, value))
    if (named !== undefined) args[name] = named
    else if (!needed.has(name) || property.default !== undefined) continue
    else if (property.enum?.[0] !== undefined) args[name] = property.enum[0]
    else if (property.type === 'string' || property.type === undefined) {
      const places = placesFor(name, order, calls)
      if (places !== null) each = { name, values: places }
      args[name] = places?.[0] ?? (order.task || order.instruction)
    } else if (property.type === 'integer' || property.type === 'number') args[name] = property.minimum ?? 1
    else args[name] = property.type === 'array' ? [] : property.type === 'boolean' ? false : {}
  }
  return each === null
    ? [args]
    : each.values.slice(0, callsMax).map((value) => ({ ...args, [each.name]: value }))
}

const urls = /https?:\/\/[^\s<>"'`|)\]，。；、）]+[^\s<>"'`|)\]，。；、）.,;:!?]/g
const files = /(?<![\w./:-])(?:[\w-]{1,80}\/){0,20}[\p{L}\w-][\p{L}\w.-]{0,80}\.[a-z]{1,5}(?![\w/])/gu

/** The URLs or files that an argument of this name may mean. `null` for any other name. */
function placesFor(name: string, order: WorkOrder, calls: readonly MadeCall[]): readonly string[] | null {
  if (name === 'url')
    return firstFound([valuesOf('url', calls), ...textsOf(order).map((text) => text.match(urls) ?? [])])
  if (!/^(?:path|file|file_path|filename)$/.test(name)) return null
  const found = firstFound(textsOf(order).map((text) => text.replaceAll(urls, '').match(files) ?? []))
  return found.length === 0 ? ['.'] : found
}

const hasWord = (text: string, word: string): boolean =>
  ` ${text.replaceAll(/[^\p{L}\p{N}_-]+/gu, ' ')} `.includes(` ${word} `)

const textsOf = ({ dependencies, task, instruction }: WorkOrder): string[] => [
  instruction,
  dependencies.map(({ text }) => text).join('\n'),
  task,
]

const firstFound = (lists: readonly (readonly string[])[]): readonly string[] => [
  ...new Set(lists.find((list) => list.length > 0) ?? []),
]

/** The texts under a key anywhere in the tools' results. */
function valuesOf(key: string, calls: readonly MadeCall[]): string[] {
  const found: string[] = []
  const open: unknown[] = calls.map(({ result }) => (result === null ? null : parseJson(result))).toReversed()
  for (let next = open.pop(); open.length > 0 || next !== undefined; next = open.pop()) {
    if (typeof next !== 'object' || next === null) continue
    const own = Object.entries(next)
    found.push(...own.flatMap(([name, value]) => (name === key && typeof value === 'string' ? [value] : [])))
    for (const [, value] of own.toReversed()) open.push(value)
  }
  return found
}

// A leader's habit: it answers the request for a plan, a delegation, a speaker or a bid in the given form
// with the given names, without judgement.

const coordinate: Habit = ({ order, calls }) => {
  if (order === null) return null
  const { instruction } = order
  const form = /\bJSON only\b/.test(instruction)
  if (form && instruction.includes('{"plan":')) return sayJson({ plan: planOf(order) })
  if (form && instruction.includes('{"final":')) {
    if (order.dependencies.length === 0 && instruction.includes('{"delegations":'))
      return sayJson({ delegations: delegationsOf(order) })
    return sayJson({ final: writeUp(order, calls, readKnown(order, calls)) })
  }
  const [, speakers] = /\{"next": "<name>"\}, one of ([^\n]+?)\.(?:\n|$)/.exec(instruction) ?? []
  if (speakers !== undefined) return sayJson({ next: inTurn(quotedIn(speakers), instruction) })
  return instruction.includes('Bid for this turn') ? say(String(bidOf(instruction))) : null
}

const sayJson = (value: unknown): ReturnType<typeof say> => say(JSON.stringify(value))

interface Shown {
  readonly name: string
  readonly does: string
  readonly tools: boolean
}

/** The list under "Members:" or "Workers:". */
function shownIn(instruction: string): Shown[] {
  const [, list = ''] = /(?:Members|Workers):\n((?:- .*(?:\n(?!- |\n).*)*\n?)+)/.exec(instruction) ?? []
  return list.split(/\n(?=- )/).flatMap((entry) => {
    const [, name = '', does = ''] =
      /^- ([^:\n(]+?)(?::\s*([\s\S]*?))?(?:\s\(tools: [^)]*\))?\s*$/.exec(entry) ?? []
    return name === '' ? [] : [{ name, does: does.trim(), tools: !entry.includes('(tools: none)') }]
  })
}

/** Members without tools wait for those with tools, which begin at the same time. */
function planOf(order: WorkOrder): object[] {
  const members = shownIn(order.instruction)
  const first = members.filter(({ tools }) => tools)
  return members.map(({ name, does, tools }) => ({
    member: name,
    task: does === '' ? order.task : does,
    depends_on: tools ? [] : first.map((each) => each.name),
  }))
}

const delegationsOf = (order: WorkOrder): object[] =>
  shownIn(order.instruction).map(({ name, does }) => ({
    worker: name,
    instruction: does === '' ? order.task : does,
    depends_on: [],
  }))

const quotedIn = (list: string): string[] =>
  [...list.matchAll(/"(?:[^"\\]|\\.)*"/g)].map(([quoted]) => String(parseJson(quoted)))

const turnIn = (instruction: string): number => Number(/This is turn (\d{1,6}) /.exec(instruction)?.[1] ?? 1)

const inTurn = (names: readonly string[], instruction: string): string =>
  names[(turnIn(instruction) - 1) % names.length] ?? ''

/** The highest bid rotates. */
function bidOf(instruction: string): number {
  const [, self = '', list = ''] =
    /You are (.+?), in a discussion between (.+?)\. This is turn/.exec(instruction) ?? []
  const names = list.split(', ')
  const place = Math.max(0, names.indexOf(self))
  const after = (place - (turnIn(instruction) - 1)) % names.length
  return Math.max(0, 100 - 10 * ((after + names.length) % names.length))
}

export interface SimulatedRequest {
  readonly messages: readonly ChatMessage[]
  readonly tools: readonly ToolSchema[]
  /** Whether the answer must call a tool. Default: no. */
  readonly mustCall?: boolean
}

export function answer(request: SimulatedRequest): SimulatedReply {
  const chosen = chooseSkill(request.messages)
  if (chosen !== null) return chosen
  const conversation = readConversation(request.messages, request.tools)
  for (const habit of habits) {
    const reply = habit(conversation)
    if (reply !== null) return request.mustCall === true ? withCall(reply, request.tools) : reply
  }
  return say('')
}

/** The first tool, with a value for each argument that its schema requires. */
function withCall(reply: SimulatedReply, [tool]: readonly ToolSchema[]): SimulatedReply {
  if (reply.toolCalls.length > 0 || tool === undefined) return reply
  const { required = [], properties = {} } = tool.parameters as {
    readonly required?: readonly string[]
    readonly properties?: Readonly<Record<string, { readonly type?: unknown }>>
  }
  const args = Object.fromEntries(
    required.map((name) => [name, samples[String(properties[name]?.type)] ?? 'x']),
  )
  return { content: null, toolCalls: [{ id: 'call_1', name: tool.name, arguments: JSON.stringify(args) }] }
}

const samples: Readonly<Record<string, unknown>> = {
  number: 1,
  integer: 1,
  boolean: true,
  array: [],
  object: {},
}

const introduce: Habit = ({ userText, calls }) => {
  const task = userText.replace(/\s+/g, ' ').trim()
  const shown = task.length > 300 ? `${task.slice(0, 300).toWellFormed()}…` : task
  const done = calls.filter((call) => call.result !== null).map((call) => call.name)
  return say(
    [
      `This is Beaver's simulated model (${simulatedModelName}). It follows the guidance of an activated skill and drives real tools, but it cannot reason about a task of its own.`,
      shown === '' ? 'No task was given.' : `The task was: ${shown}`,
      ...(done.length === 0 ? [] : [`Tools called so far: ${done.join(', ')}.`]),
      'Activate a skill with a team workflow, such as folder-report, or set OPENAI_API_KEY to use a real model.',
    ].join('\n\n'),
  )
}

const habits: readonly Habit[] = [followGuidance, coordinate, work, introduce]

// Answers the request to choose skills, by the words that a task and a description share. It chooses at most
// one skill, and none if the choice is unclear.

/** The least number of the task's words, and their least share, that a description must contain. */
const sharedMin = 2
const shareMin = 0.4

/** `null` for any other request. */
function chooseSkill(messages: readonly ChatMessage[]): SimulatedReply | null {
  if (messages[0]?.role !== 'system' || !messages[0].content.startsWith('Choose the skills')) return null
  const text = messages.findLast((message) => message.role === 'user')?.content ?? ''
  const start = text.search(/<task[ >]/)
  const task = text.slice(start < 0 ? text.length : start).replaceAll(/<\/?task(?: mark="\w+")?>/g, ' ')
  const offered = [...text.slice(0, start < 0 ? text.length : start).matchAll(/^- ([^:\n]{1,100}): (.*)$/gm)]
  const wanted = wordsOf(task)
  const [best, next] = offered
    .map(([, name = '', description = '']) => ({
      name,
      shared: sharedBy(wanted, wordsOf(`${name.replaceAll('-', ' ')} ${description}`)),
    }))
    .toSorted((a, b) => b.shared - a.shared)
  const fits =
    best !== undefined &&
    best.shared >= sharedMin &&
    best.shared >= shareMin * wanted.size &&
    best.shared > (next?.shared ?? 0)
  return say(JSON.stringify({ skills: fits ? [best.name] : [] }))
}

function sharedBy(wanted: ReadonlySet<string>, words: ReadonlySet<string>): number {
  let count = 0
  for (const word of wanted) if (words.has(word)) count++
  return count
}

const filler = new Set(
  (
    'a about all an and any are as at be by can could do does each for from give has have how i if in into is it its like me my need no not of on one or ' +
    'our out please should show so some task tell than that the their them then there these they this those to up use used user using want was we what when ' +
    'where which who why will with would write you your'
  ).split(' '),
)

/** Words without plural endings. Chinese, Japanese and Korean are split into pairs of characters. */
function wordsOf(text: string): Set<string> {
  const words = new Set<string>()
  for (const [run] of text
    .toLowerCase()
    .matchAll(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]+|[\p{L}\p{N}]+/gu)) {
    const characters = [...run]
    if (/^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u.test(run)) {
      for (let at = 0; at + 1 < characters.length; at++) words.add(`${characters[at]}${characters[at + 1]}`)
    } else if (!filler.has(run))
      words.add(run.length > 3 && !run.endsWith('ss') ? run.replace(/s$/, '') : run)
  }
  return words
}
