// `beaver __complete`: what may come next on a command line that a person types. The scripts of
// completion-scripts.ts call it: `__complete zsh|fish <word>… <begun word>` or `__complete bash <line> <breaks>`.
// The first line of the answer says whether the shell adds names of files or folders: `none`, `files` or
// `folders`. Each further line is a value, for zsh and fish with a tab and a description.
//
// C1. It starts nothing, asks nobody for consent, loads no module of the folder, and never writes to stderr.
// C2. It answers within `answerMsMax`. What is not known by then is left out.
// C3. A value has only characters that no shell reads as anything else.
import { type Argument, Command, type Option } from 'commander'
import type { CommandSpec } from './command-table/command-spec.ts'
import { commands } from './command-table/index.ts'
import type { GlobalOptions } from './context.ts'
import { globalOptions } from './help.ts'

/** A word that may come next. */
export interface Candidate {
  readonly value: string
  readonly says?: string
}

/** What lives in a running system. */
export type Live =
  | 'tasks'
  | 'asked_calls'
  | 'asked_questions'
  | 'calls'
  | 'sessions'
  | 'skills'
  | 'profiles'
  | 'workflows'

/** What may come next, before the system is asked. */
export interface Wanted {
  readonly candidates: readonly Candidate[]
  readonly live: Live | null
  readonly adds: 'none' | 'files' | 'folders'
  /** What the person has typed of the word. */
  readonly begun: string
  /** What stands before a value in the same word, such as `--status=`. */
  readonly prefix: string
  /** The words before, without options. */
  readonly places: readonly string[]
  readonly globals: GlobalOptions
}

/** Prints what may come next. Returns the exit code. */
export async function completeWords(args: readonly string[]): Promise<number> {
  const [shell, ...given] = args
  const line = shell === 'bash' ? wordsOf(given[0] ?? '') : null
  const words = line === null ? given : line.words.slice(1)
  const wanted = wantedAfter(words)
  const found = [...wanted.candidates, ...(wanted.live === null ? [] : await liveIn(wanted.live, wanted))]
  const broken = line === null ? 0 : brokenAt(line, given[1] ?? '')
  const rows = found.flatMap(({ value, says }) => {
    const whole = wanted.prefix + value
    if (!value.startsWith(wanted.begun) || !plain.test(whole)) return []
    return [
      shell === 'bash' ? whole.slice(broken) : says === undefined ? whole : `${whole}\t${shortText(says)}`,
    ]
  })
  process.stdout.write([wanted.adds, ...new Set(rows)].map((row) => `${row}\n`).join(''))
  return 0
}

const plain = /^[\w.:@%+,/=-]+$/

/** A text from outside on one line, without anything that moves a cursor. */
const shortText = (text: string): string => {
  const clean = text
    .slice(0, 500)
    .replaceAll(/[\p{C}\p{Z}]+/gu, ' ')
    .trim()
  return clean.length > 60 ? `${clean.slice(0, 59)}…`.toWellFormed() : clean
}

// What may come next, by the table of commands.

/** What a place takes, by its name in the table: `<task>`, `--session <id>`, or with the command before it. */
const liveBy: Readonly<Record<string, Live>> = {
  task: 'tasks',
  tasks: 'tasks',
  'timeline id': 'tasks',
  'session id': 'sessions',
  'approve task': 'asked_calls',
  'deny task': 'asked_calls',
  'answer task': 'asked_questions',
  call: 'calls',
  'plan Workflow': 'workflows',
  'skills name-or-dir': 'skills',
  '--task': 'tasks',
  '--session': 'sessions',
  '--skill': 'skills',
  '--profile': 'profiles',
  '--workflow': 'workflows',
}

/** Names of values that are paths. */
const files = /(?:^|[ .-])(?:file|json|path)$|\.json$/
const folders = /(?:^|-)(?:dir|folder)$/

export function wantedAfter(words: readonly string[]): Wanted {
  const begun = words.at(-1) ?? ''
  const globals: Record<string, string | boolean> = {}
  const common = optionsOf((command) =>
    globalOptions.forEach(({ flags, says }) => command.option(flags, says)),
  )
  let spec: CommandSpec | undefined
  let { options, places: slots }: Slots = common
  let awaiting: Option | null = null
  let onlyPlaces = false
  const places: string[] = []
  for (const word of words.slice(0, -1)) {
    if (awaiting !== null) {
      if (common.options.some(({ long }) => long === awaiting?.long)) globals[awaiting.attributeName()] = word
      awaiting = null
    } else if (word === '--') onlyPlaces = true
    else if (!onlyPlaces && word.startsWith('-')) {
      const [name, value] = split(word)
      const option = options.find(({ long, short }) => long === name || short === name)
      if (option === undefined || !(option.required || option.optional)) continue
      if (value === undefined) awaiting = option
      else if (common.options.includes(option)) globals[option.attributeName()] = value
    } else if (spec === undefined) {
      spec = commands.find(({ name }) => name === word)
      if (spec === undefined) return { ...nothing, begun, places: [word], globals: globalsOf(globals) }
      const own = slotsOf(spec)
      options = [...own.options, ...common.options]
      slots = own.places
    } else places.push(word)
  }
  const at = { begun, prefix: '', places, globals: globalsOf(globals) }
  if (awaiting !== null) return { ...nothing, ...at, ...valueOf(awaiting) }
  const [name, value] = split(begun)
  if (!onlyPlaces && begun.startsWith('-')) {
    const option = options.find(({ long }) => long === name)
    if (value !== undefined && option !== undefined)
      return { ...nothing, ...at, ...valueOf(option), begun: value, prefix: `${name}=` }
    return { ...nothing, ...at, candidates: options.flatMap(flagOf) }
  }
  if (spec === undefined)
    return {
      ...nothing,
      ...at,
      candidates: commands.flatMap(({ name: value, says, hidden }) =>
        hidden === true ? [] : [{ value, says }],
      ),
    }
  const slot = slots[places.length] ?? (slots.at(-1)?.variadic === true ? slots.at(-1) : undefined)
  return slot === undefined ? { ...nothing, ...at } : { ...nothing, ...at, ...placeOf(slot, spec) }
}

const nothing = { candidates: [], live: null, adds: 'none', prefix: '' } as const

interface Slots {
  readonly options: readonly Option[]
  readonly places: readonly Argument[]
}

function optionsOf(build: (command: Command) => void): Slots {
  const command = new Command()
  build(command)
  return { options: command.options, places: command.registeredArguments }
}

const slotsOf = (spec: CommandSpec): Slots => optionsOf((command) => spec.build(command, () => {}))

const split = (word: string): [string, string | undefined] => {
  const at = word.startsWith('--') ? word.indexOf('=') : -1
  return at === -1 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)]
}

const globalsOf = (given: Readonly<Record<string, string | boolean>>): GlobalOptions => ({
  color: true,
  ...given,
})

const flagOf = ({ long, hidden, description }: Option): Candidate[] =>
  long === undefined || long === null || hidden ? [] : [{ value: long, says: description }]

function valueOf(option: Option): Partial<Wanted> {
  if (option.argChoices !== undefined) return { candidates: option.argChoices.map((value) => ({ value })) }
  const named = /[<[](.*?)(?:\.\.\.)?[>\]]/.exec(option.flags)?.[1] ?? ''
  return { live: liveBy[option.long ?? ''] ?? null, adds: pathsOf(named) }
}

function placeOf(slot: Argument, { name: command }: CommandSpec): Partial<Wanted> {
  if (slot.argChoices !== undefined) return { candidates: slot.argChoices.map((value) => ({ value })) }
  const name = slot.name()
  return { live: liveBy[`${command} ${name}`] ?? liveBy[name] ?? null, adds: pathsOf(name) }
}

const pathsOf = (name: string): Wanted['adds'] =>
  folders.test(name) ? 'folders' : files.test(name) ? 'files' : 'none'

// What lives in the running system.

const answerMsMax = 2_000
const rowsMax = 50

async function liveIn(live: Live, { globals, places }: Wanted): Promise<readonly Candidate[]> {
  const late = new Promise<readonly Candidate[]>(
    (resolve) => void setTimeout(resolve, answerMsMax, []).unref(),
  )
  return await Promise.race([asked(live, { globals, places }).catch(() => []), late])
}

async function asked(
  live: Live,
  { globals, places }: Pick<Wanted, 'globals' | 'places'>,
): Promise<readonly Candidate[]> {
  const { configOf } = await import('./context.ts')
  const { lookForSystem } = await import('./system/find-system.ts')
  const system = lookForSystem(configOf(globals))
  if (system === null) return []
  const { connect } = await import('./connection.ts')
  await using connection = await connect(system, { timeoutMs: answerMsMax, daemonMs: answerMsMax })
  const { client } = connection
  switch (live) {
    case 'tasks': {
      const { tasks } = await client.query('tasks', { limit: rowsMax })
      return tasks.map(({ task_id: value, title }) => ({ value, says: title ?? '' }))
    }
    case 'asked_calls': {
      const { calls } = await client.query('approvals', { limit: rowsMax })
      return calls.map(({ task_id: value, tool: says }) => ({ value, says }))
    }
    case 'asked_questions': {
      const { questions } = await client.query('questions', { limit: rowsMax })
      return questions.map(({ task_id: value, message: says }) => ({ value, says }))
    }
    case 'calls': {
      const { calls } = await client.query('approvals', { task_id: places[0], limit: rowsMax })
      return calls.map(({ call_id: value, tool: says }) => ({ value, says }))
    }
    case 'sessions': {
      const { sessions } = await client.query('sessions', { limit: rowsMax })
      return sessions.map(({ session_id: value, title }) => ({ value, says: title ?? '' }))
    }
    case 'skills': {
      const { skills } = await connection.daemonStatus(answerMsMax)
      return skills.map(({ name: value, description: says }) => ({ value, says }))
    }
    case 'profiles':
      return (await connection.daemonStatus(answerMsMax)).profiles.map((value) => ({ value }))
    case 'workflows':
      return (await connection.daemonStatus(answerMsMax)).workflows.map((value) => ({ value }))
    default:
      return live satisfies never
  }
}

// The line of bash. bash gives its words cut at `:` and `=`, and only a part of a word is replaced then.

interface Line {
  readonly words: readonly string[]
  /** Whether the last word has a quote. bash does not cut it at its breaks then. */
  readonly quoted: boolean
}

/** The words of a line up to the cursor, as a shell reads quotes. The last word is the one that is typed. */
export function wordsOf(line: string): Line {
  const words: string[] = []
  let word = ''
  let begun = false
  let quoted = false
  let quote: string | null = null
  for (let at = 0; at < line.length; at++) {
    const char = line.charAt(at)
    if (quote === null && /\s/.test(char)) {
      if (begun) words.push(word)
      word = ''
      begun = false
      quoted = false
      continue
    }
    begun = true
    if (char === quote) quote = null
    else if (quote === null && (char === '"' || char === "'")) {
      quote = char
      quoted = true
    } else if (char === '\\' && quote !== "'") word += line.charAt(++at)
    else word += char
  }
  words.push(word)
  // A variable for the command alone stands before it.
  const first = words.findIndex((each) => !/^\w+=/.test(each))
  return { words: words.slice(Math.max(first, 0)), quoted }
}

/** How much of the last word bash keeps: all up to its last break. */
function brokenAt({ words, quoted }: Line, breaks: string): number {
  if (quoted) return 0
  const last = words.at(-1) ?? ''
  return 1 + Math.max(...[':', '='].map((char) => (breaks.includes(char) ? last.lastIndexOf(char) : -1)))
}
