// Makes checkpoints, which are signed statements of the journal's state: every `every_ms` if the journal has
// news, and after `every_events` events. It signs only what the read model has applied and verified, and only
// while the model is up to date, the journal fits the last kept checkpoint, and the operator trusts the key
// (projector-key.ts). checkpoint-targets.ts writes checkpoints elsewhere.
import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import {
  BeaverError,
  type Clock,
  type Logger,
  messageOf,
  pause,
  systemClock,
  systemFacts,
} from '@beaver/core'
import { checkpointText, noteKeyText, readCheckpoint, signNote } from '@beaver/core/journal'
import {
  type Anchoring,
  checkpointFault,
  nextCheckpoint,
  type NoteSigner,
  type ReadModel,
} from '@beaver/projection'
import { type Target, TargetGroup } from './checkpoint-targets.ts'
import type { ProjectorKey, ProjectorKeyNow } from './projector-key.ts'

export interface CheckpointsOf {
  readonly model: ReadModel
  /** The journal's name in its checkpoints: the identity of its stream. */
  readonly origin: string
  readonly key: Pick<ProjectorKey, 'current'>
  /**
   * `null`: the journal may be written. Otherwise wait for the promise; it rejects if nothing may be written.
   */
  readonly gate: () => Promise<void> | null
  /** The file with the kept checkpoints. */
  readonly file: string
  readonly targets: readonly Target[]
  readonly everyMs: number
  readonly everyEvents: number
}

/** How often a projector without a trusted key looks for one. */
const keyMsMax = 2_000

export class CheckpointMaker {
  readonly #parts: CheckpointsOf
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #targets: TargetGroup
  readonly #stopping = new AbortController()
  /** Ends the present wait. */
  #due = new AbortController()
  #news = 0
  #caughtUp = false
  #faults: Anchoring['faults'] = []
  #key: ProjectorKeyNow = { kind: 'none', fault: null }

  constructor(
    parts: CheckpointsOf,
    { logger, clock = systemClock }: { readonly logger: Logger; readonly clock?: Clock },
  ) {
    this.#parts = parts
    this.#clock = clock
    this.#logger = logger
    this.#targets = new TargetGroup(parts.targets, { clock, logger })
    readyKept(parts.file)
  }

  get state(): Anchoring {
    const untrusted =
      this.#key.kind === 'none' && this.#key.fault !== null
        ? [{ from: 'the keys of the journal', message: this.#key.fault }]
        : []
    return { faults: [...untrusted, ...this.#faults], targets: this.#targets.state }
  }

  /** Signs texts about the journal; `null` without a trusted key. */
  async notes(): Promise<NoteSigner | null> {
    const { origin } = this.#parts
    const key = await this.#readKey()
    // Readers judge a note by the last message in its tree, so the tree must contain the event that trusts
    // the key.
    if (key.kind === 'none' || this.#parts.model.position() < key.from) return null
    const noteKey = { name: origin, publicKey: key.publicKey }
    return { key: noteKeyText(noteKey), sign: (text) => signNote(text, noteKey, (bytes) => key.sign(bytes)) }
  }

  async #readKey(): Promise<ProjectorKeyNow> {
    const before = this.#key.kind === 'none' ? this.#key.fault : null
    this.#key = await this.#parts.key.current()
    if (this.#key.kind === 'none' && this.#key.fault !== null && this.#key.fault !== before)
      systemFacts.checkpointKeyUntrusted(this.#logger, this.#key.fault)
    return this.#key
  }

  /** Call it after the model has applied a batch. */
  applied({ news, caughtUp }: { readonly news: number; readonly caughtUp: boolean }): void {
    const first = caughtUp && !this.#caughtUp
    this.#news += news
    this.#caughtUp = caughtUp
    if (first) this.#compareKept()
    if (caughtUp && this.#news >= this.#parts.everyEvents) this.#due.abort()
  }

  /** Makes checkpoints until `stop`. */
  async run(): Promise<void> {
    const { signal } = this.#stopping
    if (await this.#mayWrite()) await this.notes().catch(() => {}) // It is read again before each checkpoint.
    while (!signal.aborted) {
      const waitMs = this.#key.kind === 'none' ? Math.min(keyMsMax, this.#parts.everyMs) : this.#parts.everyMs
      await pause(this.#clock, waitMs, AbortSignal.any([signal, this.#due.signal]))
      this.#due = new AbortController()
      if (!(await this.#mayWrite())) continue
      try {
        const notes = await this.notes()
        if (this.#caughtUp && notes !== null) await this.#make(notes)
      } catch (error) {
        systemFacts.checkpointNotWritten(this.#logger, { target: this.#parts.file, reason: messageOf(error) })
      }
    }
  }

  stop(): void {
    this.#stopping.abort()
  }

  /** `false`: this is stopped, or the journal has changed, which its watch reports. */
  async #mayWrite(): Promise<boolean> {
    const { signal } = this.#stopping
    if (signal.aborted) return false
    const { promise: stopped, resolve: stop } = Promise.withResolvers<boolean>()
    const onStop = (): void => stop(false)
    signal.addEventListener('abort', onStop, { once: true })
    const admitted = Promise.resolve(this.#parts.gate()).then(
      () => true,
      () => false,
    )
    return Promise.race([admitted, stopped]).finally(() => signal.removeEventListener('abort', onStop))
  }

  async #make(notes: NoteSigner): Promise<void> {
    const { model, file } = this.#parts
    if (this.#compareKept()) return
    const next = nextCheckpoint(model.sql)
    if (!next.isNews) return
    this.#news = 0
    const made = { note: notes.sign(checkpointText(next)), time: new Date(this.#clock.now()).toISOString() }
    keepNote(file, made.time, made.note)
    await this.#targets.write(made, this.#stopping.signal)
  }

  /** @returns whether the last kept checkpoint contradicts the journal */
  #compareKept(): boolean {
    const { model, file } = this.#parts
    const kept = lastKeptNote(file)
    const head = kept === null ? null : readCheckpoint(kept)
    const fault = head === null ? null : checkpointFault(model.sql, head)
    if (fault !== null && this.#faults[0]?.message !== fault)
      systemFacts.checkpointUnfit(this.#logger, { file, reason: fault })
    this.#faults = fault === null ? [] : [{ from: file, message: fault }]
    return fault !== null
  }
}

// The kept checkpoints are in the projector's home, outside of the journal: a file of lines `{"time": …,
// "note": …}`, newest last. A checkpoint is in the file before it is anywhere else, so that nobody has one
// that this file does not know. A start drops the older half of a file that is too large.

const bytesMax = 8 << 20

/** The last note in the file; `null`: none. A line that was cut short is skipped. */
export function lastKeptNote(file: string): string | null {
  const lines = linesOf(file)
  for (const line of lines.toReversed()) {
    const note = noteOf(line)
    if (note !== null) return note
  }
  return null
}

/**
 * Prepares the file: ends a line that a crash cut short, and drops the older half of a file that is too
 * large.
 */
export function readyKept(file: string): void {
  const lines = linesOf(file)
  if (lines.reduce((sum, line) => sum + line.length, 0) > bytesMax) {
    writeFileSync(`${file}.partial`, lines.slice(Math.floor(lines.length / 2)).join('\n') + '\n', {
      mode: 0o600,
    })
    renameSync(`${file}.partial`, file)
  } else if (lines.length > 0 && !readFileSync(file, 'utf8').endsWith('\n')) {
    appendFileSync(file, '\n')
  }
}

export function keepNote(file: string, time: string, note: string): void {
  appendFileSync(file, `${JSON.stringify({ time, note })}\n`, { mode: 0o600 })
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw new BeaverError('start_failed', `The checkpoints in ${file} cannot be read: ${messageOf(cause)}.`, {
      cause,
    })
  }
}

function noteOf(line: string): string | null {
  try {
    const { note } = JSON.parse(line) as { readonly note?: unknown }
    return typeof note === 'string' ? note : null
  } catch {
    return null
  }
}
