// Files of a daemon that are read again when they change. What they contain is defined by the reader; this
// file decides when they are read, and whether what was read is used. A look compares stamps. The files are
// read only if the stamp has changed. A change with a new fault is not used: the old content stays, for as
// long as the fault does. A fault that the used content had already is none. A fault is told when a second
// look finds the same files: an editor may write a file in two steps. There is one look at a time, and a look
// takes at most a small part of the time.
import type { LoadDiagnostic } from '@beaver/agent'

export interface FileReader<Content> {
  stamp(): Promise<string>
  /** An error that it throws is a fault of `name`. */
  read(): Promise<{ readonly content: Content; readonly diagnostics: readonly LoadDiagnostic[] }>
  /** What a fault is of that names no file. */
  readonly name: string
}

interface Read<Content> {
  readonly content: Content
  readonly diagnostics: readonly LoadDiagnostic[]
}

/**
 * What a look has found. `used`: there is new content. `doubtful`: a change seems to be broken. `broken`: the
 * change is broken.
 */
export type Look = 'same' | 'used' | 'doubtful' | 'broken'

/** One set of files. Call `look` again and again; `LookPace` says how often. */
export class WatchedFiles<Content> {
  readonly #reader: FileReader<Content>
  #used: Read<Content>
  /** Of the files that were read last. `null`: they changed while they were read. */
  #stamp: string | null
  #faults: readonly LoadDiagnostic[] = []
  #untold = false

  private constructor(reader: FileReader<Content>, used: Read<Content>, stamp: string | null) {
    this.#reader = reader
    this.#used = used
    this.#stamp = stamp
  }

  /** @throws what the reader throws */
  static async open<Content>(reader: FileReader<Content>): Promise<WatchedFiles<Content>> {
    const before = await reader.stamp()
    const used = await reader.read()
    return new WatchedFiles(reader, used, (await reader.stamp()) === before ? before : null)
  }

  get content(): Content {
    return this.#used.content
  }

  /** What is wrong with the content that is used. */
  get diagnostics(): readonly LoadDiagnostic[] {
    return this.#used.diagnostics
  }

  /** Why the newest change is not used. Empty: it is used. */
  get faults(): readonly LoadDiagnostic[] {
    return this.#untold ? [] : this.#faults
  }

  async look(): Promise<Look> {
    const stamp = await this.#reader.stamp()
    if (stamp === this.#stamp) {
      if (!this.#untold) return 'same'
      this.#untold = false
      return 'broken'
    }
    const read = await this.#read()
    // Files that change while they are read are read again by the next look.
    if ((await this.#reader.stamp()) !== stamp) return 'doubtful'
    this.#stamp = stamp
    this.#faults = 'faults' in read ? read.faults : newFaults(this.#used, read)
    this.#untold = this.#faults.length > 0
    if ('faults' in read || this.#untold) return 'doubtful'
    this.#used = read
    return 'used'
  }

  async #read(): Promise<Read<Content> | { readonly faults: readonly LoadDiagnostic[] }> {
    try {
      return await this.#reader.read()
    } catch (error) {
      return {
        faults: [
          {
            file: this.#reader.name,
            severity: 'error',
            message: error instanceof Error ? error.message : String(error),
          },
        ],
      }
    }
  }
}

function newFaults<Content>(used: Read<Content>, read: Read<Content>): readonly LoadDiagnostic[] {
  const broken = new Set(
    used.diagnostics.flatMap(({ file, severity }) => (severity === 'error' ? [file] : [])),
  )
  return read.diagnostics.filter(({ file, severity }) => severity === 'error' && !broken.has(file))
}

/** How long nobody looks after a look, at least. */
const restMsMin = 100
/**
 * How long nobody looks after a look, at most: one that was slow because the machine was busy must not hide a
 * change for minutes.
 */
const restMsMax = 5_000
/** A look takes at most one part in so many of the time; one that cannot wait, one in `urgentFactor`. */
const restFactor = 20
const urgentFactor = 2

/** Decides when there is a look, and shares it between those who ask for one. */
export class LookPace {
  readonly #look: () => Promise<void>
  readonly #now: () => number
  #looking: Promise<void> | null = null
  #next: Promise<void> | null = null
  #endedMs = Number.NEGATIVE_INFINITY
  #tookMs = 0

  /** @param now a time in milliseconds that never goes back */
  constructor(look: () => Promise<void>, now: () => number = () => performance.now()) {
    this.#look = look
    this.#now = now
  }

  /**
   * Looks, unless it has looked a moment ago. @param how.now waits for a look that begins after the call, in
   * any case
   */
  ask({ now }: { readonly now: boolean } = { now: false }): Promise<void> {
    if (now) return (this.#next ??= this.#urgent())
    if (this.#looking !== null) return this.#looking
    return this.#restMs(restFactor, restMsMin) > 0 ? Promise.resolve() : this.#begin()
  }

  async #urgent(): Promise<void> {
    await this.#over()
    const restMs = this.#restMs(urgentFactor)
    if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs).unref())
    await this.#over()
    this.#next = null
    await this.#begin()
  }

  /** Resolves when no look is under way. One that failed is the business of those who asked for it. */
  async #over(): Promise<void> {
    await this.#looking?.catch(() => {})
  }

  /** How long is to be rested still. */
  #restMs(factor: number, restMsMin = 0): number {
    return this.#endedMs + Math.min(restMsMax, Math.max(restMsMin, this.#tookMs * factor)) - this.#now()
  }

  #begin(): Promise<void> {
    const beganMs = this.#now()
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null
      this.#endedMs = this.#now()
      this.#tookMs = this.#endedMs - beganMs
    })
    return this.#looking
  }
}
