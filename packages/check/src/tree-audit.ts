// TreeAudit: compares a journal with signed checkpoints. For a whole journal, the tree is computed from the
// messages alone, and no proof is believed. In a part of a journal, each message needs a proof of inclusion
// in one signed checkpoint, and each log a signed end. If the journal has an operator, a checkpoint needs the
// key of a trusted projector. A checkpoint from outside is judged as if it followed the messages that it
// counts. What could not be checked is reported, and never counts as checked.
import { z } from 'zod'
import type { ArchiveLog } from './archive-log.ts'
import type { Evidence, GivenCheckpoint, JournalAbout, StreamMessage } from './source.ts'
import type { KeyLog } from './key-log.ts'
import { placeOf } from './layout.ts'
import { judgeNote, notesOf, readNote, readVerifierKey, type ReadNote, type VerifierKey } from './note.ts'
import { readEntry } from './record.ts'
import type { Rule } from './rules.ts'
import { LeafTree, leafOf, provesConsistency, provesInclusion } from './tree.ts'

/** What the reader knows besides the journal and its evidence. */
export interface Known {
  /** Keys that the reader trusts, as name+id+base64. If there are none, those of the evidence count. */
  readonly keys: readonly string[]
  readonly checkpoints: readonly GivenCheckpoint[]
  /** The id of the operator's key that the reader knows. */
  readonly operator?: string
}

/** What was verified with the tree, and what was not, in sentences for people. */
export interface TreeVerdict {
  readonly checked: readonly string[]
  readonly not_checked: readonly string[]
  /** The size of the largest checkpoint that fits. */
  readonly fits_up_to: number | null
  readonly checkpoints: number
  /** Which keys counted: the reader's own, those of the evidence, or none. */
  readonly keys: 'given' | 'evidence' | 'none'
}

type TellRule = (rule: Rule, message: string, sequence: number | null) => void

interface Found extends GivenCheckpoint {
  /** The checkpoint counts at most this many messages, because it is a message itself. */
  readonly most: number
  readonly sequence: number | null
}

interface End {
  readonly taskseq: number
  readonly hash: string
}

interface TreeAuditOf {
  readonly evidence: Evidence
  readonly known: Known
  readonly ring: KeyLog
  readonly archives: ArchiveLog
  readonly report: TellRule
}

export class TreeAudit {
  readonly #about: JournalAbout
  readonly #evidence: Evidence
  readonly #known: Known
  readonly #report: TellRule
  readonly #tree = new LeafTree()
  readonly #found: Found[] = []
  /** The last record of each log of a part. */
  readonly #ends = new Map<string, End>()
  readonly #keys: readonly VerifierKey[]
  readonly #base: ReadNote | null
  readonly #ring: KeyLog
  readonly #archives: ArchiveLog
  #last = 0
  #archived = 0
  #included = 0

  constructor(about: JournalAbout, { evidence, known, ring, archives, report }: TreeAuditOf) {
    this.#about = about
    this.#evidence = evidence
    this.#known = known
    this.#report = report
    this.#ring = ring
    this.#archives = archives
    const texts = known.keys.length > 0 ? known.keys : ring.operator === null ? evidence.keys : []
    this.#keys = texts.flatMap((text) => readVerifierKey(text) ?? [])
    if (this.#keys.length < texts.length)
      report(
        'checkpoint_signature',
        'a key is not of the form name+id+base64, or its id is not its own',
        null,
      )
    const base = evidence.checkpoint === null ? null : readNote(evidence.checkpoint)
    this.#base = typeof base === 'string' ? null : base
  }

  take(messages: readonly StreamMessage[]): void {
    for (const message of messages) {
      if (this.#about.whole) this.#takeWhole(message)
      else this.#takePart(message)
    }
  }

  finish(): TreeVerdict {
    return this.#about.whole ? this.#finishWhole() : this.#finishPart()
  }

  #takeWhole(message: StreamMessage): void {
    this.#takeArchived(message.sequence)
    const place = placeOf(message.subject)
    if (place.kind === 'system' && place.name === 'checkpoints') {
      const from = `message ${message.sequence} of the journal`
      for (const note of notesIn(message.payload))
        this.#found.push({ note, from, most: this.#tree.size, sequence: message.sequence })
    }
    this.#tree.append(leafOf(message))
  }

  /** Takes the leaves of archived messages from the signed events, because the messages are gone. */
  #takeArchived(before: number): void {
    for (let sequence = this.#last + 1; sequence < before && this.#archives.has(sequence); sequence++) {
      this.#tree.append(this.#archives.leafOf(sequence) ?? Buffer.alloc(0))
      this.#archived++
    }
    this.#last = before
  }

  #finishWhole(): TreeVerdict {
    const { size } = this.#tree
    const own = this.#evidence.checkpoint
    const notes: Found[] = [
      ...this.#known.checkpoints,
      ...(own === null ? [] : [{ note: own, from: ownName(this.#about) }]),
    ].map((each) => ({
      ...each,
      most: size,
      sequence: null,
    }))
    const fitting = [...this.#found, ...notes].flatMap(
      (found) => this.#judge(found, (note) => this.#wholeFault(note, found.most)) ?? [],
    )
    const upTo = fitting.length === 0 ? null : Math.max(...fitting.map((note) => note.size))
    return {
      checked: [
        `the tree over ${counted(size, 'message')}, from the messages themselves${this.#archived === 0 ? '' : `, and for ${counted(this.#archived, 'archived message')} from what the operator signed`}`,
        ...(fitting.length === 0
          ? []
          : [
              `${fitting.length} of ${this.#found.length + notes.length} checkpoints fit; the largest counts ${counted(upTo ?? 0, 'message')}`,
            ]),
      ],
      not_checked: [
        ...(fitting.length === 0 && this.#found.length + notes.length === 0
          ? ['whether the journal was written anew: there is no checkpoint']
          : []),
        ...(upTo !== null && upTo < size
          ? [
              `${counted(size - upTo, 'message')} after the largest checkpoint that fits, against a checkpoint`,
            ]
          : []),
        ...this.#common(),
      ],
      fits_up_to: upTo,
      checkpoints: this.#found.length + notes.length,
      keys: this.#keysFrom(),
    }
  }

  #wholeFault({ size, root }: ReadNote, most: number): string | null {
    if (size > most)
      return `counts ${size} messages, and the journal has ${most}: its end was cut off or replaced`
    return this.#tree.root(size).equals(root)
      ? null
      : `counts ${size} messages, and these are not the first ${size} messages of the journal: somebody changed the journal`
  }

  #takePart(message: StreamMessage): void {
    const place = placeOf(message.subject)
    const key = 'log' in place ? logKey(place.log) : place.kind === 'system' ? place.name : null
    const entry = readEntry(message.payload)
    const last = entry.kind === 'entry' ? entry.records.at(-1) : undefined
    if (key !== null && last !== undefined) this.#ends.set(key, last.record)
    if (this.#base === null) return
    const { proof } = message
    if (proof !== undefined && provesInclusion(leafOf(message), proof.index, this.#base, proof.hashes))
      this.#included++
    else
      this.#report(
        'inclusion',
        `message ${message.sequence} is not proved to be in the journal: ${proof === undefined ? 'it has no proof' : 'its proof does not fit'}`,
        message.sequence,
      )
  }

  #finishPart(): TreeVerdict {
    const own = this.#evidence.checkpoint
    if (own === null) this.#report('inclusion', 'there is no checkpoint to which the messages belong', null)
    const base =
      own === null
        ? null
        : this.#judge({ note: own, from: ownName(this.#about), most: Infinity, sequence: null }, () => null)
    const older = base === null ? [] : this.#known.checkpoints.map((each) => this.#compareOlder(each, base))
    const ends = base === null ? 0 : this.#judgeEnds(base)
    return {
      checked: [
        `${counted(this.#included, 'message')}, each proved to be in the tree of a checkpoint over ${counted(base?.size ?? 0, 'message')}`,
        `the signed ${ends === 1 ? 'end' : 'ends'} of ${counted(ends, 'log')}`,
        ...(older.includes(true)
          ? [
              `${counted(older.filter(Boolean).length, 'older checkpoint')}, proved to be the beginning of that tree`,
            ]
          : []),
      ],
      not_checked: ['other tasks, and the order of tasks in their sessions', ...this.#common()],
      fits_up_to: base?.size ?? null,
      checkpoints: (own === null ? 0 : 1) + this.#known.checkpoints.length,
      keys: this.#keysFrom(),
    }
  }

  #compareOlder(given: GivenCheckpoint, base: ReadNote): boolean {
    const fault = (note: ReadNote): string | null => {
      if (note.size > base.size)
        return `counts ${note.size} messages, and ${ownName(this.#about)} is older: it counts ${base.size}`
      const proof = this.#evidence.consistency.find(({ size }) => size === note.size)
      if (proof === undefined && note.size !== base.size)
        return `counts ${note.size} messages, and there is no proof that it is the beginning of ${ownName(this.#about)}`
      return provesConsistency(note, base, proof?.hashes ?? [])
        ? null
        : `counts ${note.size} messages, and is not the beginning of ${ownName(this.#about)}: there are two histories`
    }
    return this.#judge({ ...given, most: Infinity, sequence: null }, fault) !== null
  }

  #judgeEnds({ origin, size, root }: ReadNote): number {
    const say = (message: string): void => this.#report('head', message, null)
    const heads = readNote(this.#evidence.heads ?? '')
    if (typeof heads === 'string') {
      say(`there is no signed note with the ends of the logs: ${heads}`)
      return 0
    }
    if (heads.origin !== `${origin}/heads` || heads.size !== size || !Buffer.from(heads.root).equals(root))
      say('the note with the ends of the logs does not belong to the checkpoint')
    this.#judgeSignature(heads, 'the note with the ends of the logs', null)
    const signed = new Map(heads.lines.flatMap(endOf))
    for (const [name, end] of this.#ends) {
      const due = signed.get(name)
      if (due === undefined) say(`the end of the log ${shown(name)} is not signed`)
      else if (due.taskseq !== end.taskseq || due.hash !== end.hash)
        say(
          `the log ${shown(name)} ends with event ${end.taskseq}, and its signed end is ${due.taskseq === end.taskseq ? 'another record' : `event ${due.taskseq}`}`,
        )
    }
    for (const [name, { taskseq }] of signed)
      if (!this.#ends.has(name)) say(`the log ${shown(name)} is missing; its signed end is event ${taskseq}`)
    return this.#ends.size
  }

  /** The checkpoint if it fits; otherwise reports it and returns `null`. */
  #judge({ note, from, sequence }: Found, faultOf: (note: ReadNote) => string | null): ReadNote | null {
    const say = (rule: Rule, message: string): void => this.#report(rule, message, sequence)
    const read = readNote(note)
    if (typeof read === 'string') {
      say('checkpoint', `the checkpoint of ${from} cannot be read: ${read}`)
      return null
    }
    const due = `${this.#about.stream}@${this.#about.created}`
    const fault =
      read.origin === due ? faultOf(read) : `belongs to another journal, ${read.origin} instead of ${due}`
    if (fault !== null) say('checkpoint', `the checkpoint of ${from} ${fault}`)
    const signed = this.#judgeSignature(read, `the checkpoint of ${from}`, sequence)
    return fault === null && signed ? read : null
  }

  #judgeSignature(note: ReadNote, name: string, sequence: number | null): boolean {
    if (this.#ring.operator !== null) {
      const fault = this.#ring.noteFault(note, sequence ?? note.size + 0.5)
      // The check of the journal reports a checkpoint in the journal.
      if (fault !== null && sequence === null) this.#report('checkpoint_signature', `${name} ${fault}`, null)
      if (fault !== null) return false
    }
    if (this.#keys.length === 0) return true
    const verdict = judgeNote(note, this.#keys)
    if (verdict === 'wrong')
      this.#report('checkpoint_signature', `${name} has a signature that is not one of its text`, sequence)
    if (verdict === 'unknown')
      this.#report('checkpoint_signature', `${name} is not signed by a key that counts`, sequence)
    return verdict === 'signed'
  }

  #keysFrom(): TreeVerdict['keys'] {
    if (
      this.#known.keys.length > 0 ||
      (this.#known.operator !== undefined && this.#known.operator === this.#ring.operator)
    )
      return 'given'
    return this.#keys.length > 0 || this.#ring.operator !== null ? 'evidence' : 'none'
  }

  #operatorUnknown(): string[] {
    const { operator } = this.#ring
    if (operator === null) return ['who wrote the messages: the journal has no operator']
    if (this.#known.operator === operator) return []
    return [
      `whether the operator's key ${operator} is the right one: it came with what it verifies (give the id that you know with --operator)`,
    ]
  }

  #common(): string[] {
    const from = this.#keysFrom()
    return [
      ...(from === 'none' ? ['who signed the checkpoints: there is no key'] : []),
      ...(from === 'evidence' && this.#ring.operator === null
        ? ['whether the key is the right one: it came with what it verifies (give yours with --key)']
        : []),
      ...this.#operatorUnknown(),
      'whether what agents wrote is true',
    ]
  }
}

const ownName = ({ exportedAt }: JournalAbout): string =>
  exportedAt === null ? 'the projector' : 'the export'

const logKey = ({
  tenant,
  session,
  task,
}: {
  readonly tenant: string
  readonly session: string
  readonly task: string
}): string => [tenant, session, task].join('\u0000')
export const counted = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`
const shown = (key: string): string => key.replaceAll('\u0000', '/')

function notesIn(payload: Uint8Array): string[] {
  const entry = readEntry(payload)
  return entry.kind === 'unreadable' ? [] : notesOf(entry.records) // The check of the journal reports it.
}

const endLine = z.union([
  z.looseObject({
    tenant: z.string(),
    session: z.string(),
    task: z.string(),
    taskseq: z.number(),
    hash: z.string(),
  }),
  z.looseObject({ log: z.string(), taskseq: z.number(), hash: z.string() }),
])

function endOf(line: string): (readonly [string, End])[] {
  try {
    const end = endLine.parse(JSON.parse(line))
    return [
      [
        'task' in end
          ? logKey(end as { tenant: string; session: string; task: string })
          : (end as { log: string }).log,
        { taskseq: end.taskseq, hash: end.hash },
      ],
    ]
  } catch {
    return []
  }
}
