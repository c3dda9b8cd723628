// Judges, as a pure function of a mark and a look, whether the journal still is the stream that a process saw
// before, with everything that was in it: it contains the mark, does not end before it, and misses only
// archived messages. journal-watch.ts looks; the chain of each log is judged in record.ts.
import { z } from 'zod'

/** What a server says about the stream of the journal. */
export interface JournalLook {
  /** It differs from that of a later stream with the same name. */
  readonly identity: string
  readonly lastSequence: number
  /** The number of messages that the stream has. */
  readonly messages: number
  /** How many messages are missing because they are in an archive, as signed events say. Default: 0. */
  readonly archived?: number
  /** What the server itself lost since it started: `messages` may be 0 although bytes are lost. */
  readonly lost: { readonly messages: number; readonly bytes: number } | null
  readonly config: Readonly<Record<string, unknown>>
}

export const journalFindingKind = z.enum([
  'missing_stream',
  'recreated',
  'rolled_back',
  'replaced',
  'messages_missing',
  'server_lost_data',
  'configuration',
  'unreadable',
  'server_log',
  'read_model_changed',
  'rows_differ',
])

const finding = z.object({
  kind: journalFindingKind,
  /** What is wrong, in whole sentences. */
  message: z.string(),
  /** Whether acknowledged entries are gone or may go unseen. Then no daemon writes. */
  harmful: z.boolean(),
  /** The task that it is about, if it is about one. */
  task: z.string().optional(),
})
/** Something about the journal as a whole, or about the read model, that is not as it was. */
export type JournalFinding = z.infer<typeof finding>

/** The state of a journal, as a process saw it or as a person accepted it. */
const journalState = z.object({
  identity: z.string(),
  /** The last message that this process saw or wrote, and the hash of its subject and content. */
  sequence: z.int().nonnegative(),
  hash: z.string(),
  /** How many missing messages somebody accepted. */
  missing: z.int().nonnegative(),
  /** The loss, as the server reports it, that somebody accepted. */
  lost: z.string().nullable(),
  /** Settings that differ from those of Beaver, which somebody accepted. */
  settings: z.array(z.string()),
  /** Settings that Beaver does not choose. They must not change. */
  chosen: z.record(z.string(), z.string()),
})

export const journalMark = journalState.extend({
  /** Findings of other kinds, until somebody accepts them. */
  reported: z.array(finding.extend({ at: z.string() })),
  /** Findings of other kinds that somebody accepted, by their messages. */
  settled: z.array(z.string()),
  /** The acceptances that were applied. */
  accepted: z.array(z.string()),
})
/**
 * What a process keeps about the journal. A mark moves on only while nothing harmful is found. So a finding
 * stays until the journal is as before, or until somebody accepts it.
 */
export type JournalMark = z.infer<typeof journalMark>

export const journalAcceptance = journalState.extend({
  id: z.string(),
  at: z.string(),
  by: z.string(),
  reason: z.string(),
  findings: z.array(finding),
  /** The operator's key and its signature. A home that knows no operator has none. */
  key_id: z.string().optional(),
  public_key: z.string().optional(),
  signature: z.string().optional(),
})
/** A person's decision that the journal is right as it is now. It is for one state, and is applied once. */
export type JournalAcceptance = z.infer<typeof journalAcceptance>

/** The hash of an empty journal's last message, and of a message with unknown content. */
export const noHash = ''

export function firstMark(look: JournalLook, hash: string): JournalMark {
  const { identity, lastSequence: sequence } = look
  return {
    identity,
    sequence,
    hash,
    missing: 0,
    lost: null,
    settings: [],
    chosen: chosenSettings(look.config),
    reported: [],
    settled: [],
    accepted: [],
  }
}

/** A journal has every message from the first one on, except those in an archive. */
export const missingIn = ({ lastSequence, messages, archived = 0 }: JournalLook): number =>
  Math.max(0, lastSequence - messages - archived)

/**
 * What is wrong with the journal, as the look shows it.
 *
 * @param hashAtMark the hash of the message with the mark's sequence; `null` if there is no such message,
 * `undefined` if it was not read
 */
export function judgeJournal(
  mark: JournalMark,
  look: JournalLook,
  hashAtMark: string | null | undefined,
  captured: readonly string[],
): JournalFinding[] {
  const { identity, lastSequence } = look
  const place = placeFinding(mark, look, hashAtMark)
  const missing = missingIn(look) - mark.missing
  const lost = look.lost
  return [
    ...(place === null ? [] : [place]),
    ...(missing > 0 && place?.kind !== 'recreated'
      ? [
          harm(
            'messages_missing',
            `The journal ${identity} has ${count(missing, 'message')} less than it must have up to message ${lastSequence}. Only messages that an archive has may be deleted from it.`,
          ),
        ]
      : []),
    ...(lost !== null && lostText(lost) !== mark.lost
      ? [
          harm(
            'server_lost_data',
            `The nats-server says that it lost data of the journal ${identity} when it started: ${lostText(lost)}.`,
          ),
        ]
      : []),
    ...settingsFindings(mark, look.config, captured),
  ]
}

function placeFinding(
  mark: JournalMark,
  look: JournalLook,
  hashAtMark: string | null | undefined,
): JournalFinding | null {
  const { identity, lastSequence } = look
  if (identity !== mark.identity)
    return harm(
      'recreated',
      `The journal is ${identity} now, and it was ${mark.identity}. Somebody deleted the stream and created it again.`,
    )
  if (lastSequence < mark.sequence)
    return harm(
      'rolled_back',
      `The journal ${identity} ends at message ${lastSequence}, and it ended at message ${mark.sequence} before. Its end was lost, or somebody put back an older copy.`,
    )
  if (mark.sequence === 0 || mark.hash === noHash || hashAtMark === undefined || hashAtMark === mark.hash)
    return null
  return hashAtMark === null
    ? harm('replaced', `Message ${mark.sequence} of the journal ${identity} cannot be read any more.`)
    : harm(
        'replaced',
        `Message ${mark.sequence} of the journal ${identity} has another content than before. Somebody replaced messages.`,
      )
}

/** The text by which a loss that the server reports is accepted. */
export const lostText = ({ messages, bytes }: { messages: number; bytes: number }): string =>
  messages === 0 ? count(bytes, 'byte') : `${count(messages, 'message')}, ${count(bytes, 'byte')}`

/** What Beaver sets, and what each other value may do. `null`: any other value loses or changes entries. */
const wanted: readonly {
  readonly name: string
  readonly value: unknown
  readonly harmless?: (config: JournalLook['config']) => boolean
}[] = [
  { name: 'retention', value: 'limits' },
  { name: 'discard', value: 'new' },
  { name: 'storage', value: 'file' },
  { name: 'max_age', value: 0 },
  { name: 'max_msgs_per_subject', value: -1 },
  // With `discard: new` a full journal refuses entries; it drops none.
  { name: 'max_msgs', value: -1, harmless: ({ discard }) => discard === 'new' },
  { name: 'max_bytes', value: -1, harmless: ({ discard }) => discard === 'new' },
  { name: 'max_msg_size', value: -1, harmless: () => true },
  // `deny_delete` is not compared: journals of earlier versions have it, and it loses nothing.
  { name: 'deny_purge', value: true },
  { name: 'allow_rollup_hdrs', value: false },
  { name: 'allow_msg_ttl', value: false },
  { name: 'allow_msg_counter', value: false },
  { name: 'sealed', value: false, harmless: () => true },
  { name: 'no_ack', value: false },
  { name: 'persist_mode', value: 'default' },
  { name: 'mirror', value: null },
  { name: 'sources', value: null },
  { name: 'subject_transform', value: null },
  // Everything in the journal is also published elsewhere, which loses nothing.
  { name: 'republish', value: null, harmless: () => true },
  { name: 'allow_direct', value: true, harmless: () => true },
  { name: 'allow_atomic', value: true, harmless: () => true },
]

/** The values of settings that the server leaves out. */
const absent: Readonly<Record<string, unknown>> = {
  max_age: 0,
  max_msgs: -1,
  max_bytes: -1,
  max_msg_size: -1,
  max_msgs_per_subject: -1,
  persist_mode: 'default',
}
const chosenNames = ['num_replicas', 'compression', 'placement'] as const

function settingOf(config: JournalLook['config'], name: string): unknown {
  const value = config[name]
  if (value === undefined || value === null || value === '')
    return (
      absent[name] ?? (typeof wanted.find((each) => each.name === name)?.value === 'boolean' ? false : null)
    )
  return Array.isArray(value) && value.length === 0 ? null : value
}

/** The settings that differ from what Beaver sets, as `name=value`. */
export function otherSettings(
  config: JournalLook['config'],
  captured: readonly string[],
): { readonly text: string; readonly harmful: boolean }[] {
  const found = wanted.flatMap(({ name, value, harmless }) => {
    const is = settingOf(config, name)
    return is === value
      ? []
      : [{ text: `${name}=${JSON.stringify(is)}`, harmful: harmless?.(config) !== true }]
  })
  const subjects = Array.isArray(config['subjects']) ? config['subjects'].map(String) : []
  const uncovered = captured.filter((subject) => !subjects.some((pattern) => covers(pattern, subject)))
  return uncovered.length === 0
    ? found
    : [...found, { text: `subjects=${JSON.stringify(subjects)}`, harmful: true }]
}

export const chosenSettings = (config: JournalLook['config']): Record<string, string> =>
  Object.fromEntries(chosenNames.map((name) => [name, JSON.stringify(config[name] ?? null)]))

function settingsFindings(
  mark: JournalMark,
  config: JournalLook['config'],
  captured: readonly string[],
): JournalFinding[] {
  const other = otherSettings(config, captured).filter(({ text }) => !mark.settings.includes(text))
  const now = chosenSettings(config)
  const changed = chosenNames.filter(
    (name) => mark.chosen[name] !== undefined && mark.chosen[name] !== now[name],
  )
  return [
    ...other.map(({ text, harmful }) => ({
      kind: 'configuration' as const,
      message: `The journal has the setting ${text}, which Beaver does not set.${harmful ? ' Entries may be lost or changed by it.' : ''}`,
      harmful,
    })),
    ...changed.map((name) => ({
      kind: 'configuration' as const,
      message: `The setting ${name} of the journal changed from ${mark.chosen[name]} to ${now[name]}.`,
      harmful: false,
    })),
  ]
}

/** Whether every subject of `subject` is one of `pattern`. */
function covers(pattern: string, subject: string): boolean {
  const [ours, theirs] = [pattern.split('.'), subject.split('.')]
  for (const [i, token] of ours.entries()) {
    if (token === '>') return theirs.length > i
    const other = theirs[i]
    if (other === undefined || other === '>' || (token !== '*' && token !== other)) return false
  }
  return ours.length === theirs.length
}

/**
 * The mark after an acceptance; `null` if the acceptance is for another state or was applied already.
 *
 * @param hashAtAccepted the hash of the message with the acceptance's sequence; `null` if there is none
 */
export function acceptedMark(
  mark: JournalMark,
  acceptance: JournalAcceptance,
  look: JournalLook,
  hashAtAccepted: string | null,
): JournalMark | null {
  const { id, identity, sequence, hash, missing, lost, settings, chosen, findings } = acceptance
  if (mark.accepted.includes(id) || identity !== look.identity || sequence > look.lastSequence) return null
  if (sequence > 0 && hashAtAccepted !== hash) return null
  const accepted = [...mark.accepted, id].slice(-acceptedMax)
  const settled = [...mark.settled, ...findings.map(({ message }) => message)].slice(-settledMax)
  return {
    identity,
    sequence,
    hash,
    missing,
    lost,
    settings: [...settings],
    chosen: { ...chosen },
    reported: [],
    settled,
    accepted,
  }
}

const acceptedMax = 100
const settledMax = 1_000

const harm = (kind: JournalFinding['kind'], message: string): JournalFinding => ({
  kind,
  message,
  harmful: true,
})
const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`
