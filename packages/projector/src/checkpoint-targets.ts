// Writes checkpoints to the journal and the places that the operator chose. Each place gets them in order. A
// place that fails is tried a few times and then waits for the next checkpoint, which contains all that
// earlier ones said. It stops neither the projector nor another place.
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { BeaverError, type Clock, type Logger, messageOf, pause, systemFacts } from '@beaver/core'
import { type Backoff, pauseBefore } from '@beaver/core/supervision'
import { connectNats, putInBucket, shownUrl } from '@beaver/nats'
import type { Config } from '@beaver/platform'
import type { Anchoring } from '@beaver/projection'
import { makeFolder } from '@beaver/platform'

/** A signed checkpoint with its time (RFC 3339, UTC). */
export interface MadeCheckpoint {
  readonly note: string
  readonly time: string
}

/** A place for checkpoints. */
export interface Target {
  readonly name: string
  /** Rejects if the checkpoint was not written. */
  write(made: MadeCheckpoint, signal: AbortSignal): Promise<void>
}

const triesMax = 4
const backoff: Backoff = { pauseMsMin: 500, pauseMsMax: 5_000, jitter: false }
const answerMsMax = 10_000

/**
 * The places that the configuration names. @param journal a name for the namespace and the tenant that fits
 * into the name of a file
 */
export function configuredTargets(
  { folder, webhook, bucket }: Config['checkpoints'],
  journal: string,
): Target[] {
  return [
    ...(folder === undefined ? [] : [folderTarget(folder, journal)]),
    ...(webhook === undefined ? [] : [webhookTarget(webhook)]),
    ...(bucket === undefined ? [] : [bucketTarget(bucket, journal)]),
  ]
}

function folderTarget(folder: string, journal: string): Target {
  return {
    name: `the folder ${folder}`,
    async write({ note, time }) {
      makeFolder(folder, 0o777)
      await appendFile(join(folder, `checkpoints-${journal}.ndjson`), `${JSON.stringify({ time, note })}\n`)
    },
  }
}

function webhookTarget(url: string): Target {
  return {
    name: `the webhook ${new URL(url).host}`,
    async write({ note }, stopping) {
      const signal = AbortSignal.any([stopping, AbortSignal.timeout(answerMsMax)])
      const answer = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'text/plain; charset=utf-8' },
        body: note,
        signal,
      })
      await answer.body?.cancel()
      if (!answer.ok) throw new BeaverError('unreachable', `It answered with the status ${answer.status}`)
    },
  }
}

function bucketTarget(
  { nats_url: url, name: bucket }: { readonly nats_url: string; readonly name: string },
  journal: string,
): Target {
  return {
    name: `the bucket ${bucket} at ${shownUrl(url)}`,
    async write({ note }) {
      const nc = await connectNats({ url, name: 'beaver-checkpoints' })
      try {
        await putInBucket(nc, { bucket, key: journal, value: note })
      } finally {
        await nc.close()
      }
    },
  }
}

/** Writes to all places at once, and remembers which of them fail. */
export class TargetGroup {
  readonly #targets: readonly Target[]
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #faults = new Map<string, { readonly message: string; readonly since: string }>()

  constructor(
    targets: readonly Target[],
    { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
  ) {
    this.#targets = targets
    this.#clock = clock
    this.#logger = logger
  }

  get state(): Anchoring['targets'] {
    return this.#targets.map(({ name }) => ({ name, message: null, since: null, ...this.#faults.get(name) }))
  }

  async write(made: MadeCheckpoint, signal: AbortSignal): Promise<void> {
    await Promise.all(this.#targets.map((target) => this.#writeTo(target, made, signal)))
  }

  async #writeTo(target: Target, made: MadeCheckpoint, signal: AbortSignal): Promise<void> {
    for (let tries = 1; !signal.aborted; tries++) {
      try {
        await target.write(made, signal)
        this.#faults.delete(target.name)
        return
      } catch (error) {
        if (tries === triesMax) return this.#failed(target.name, messageOf(error))
        await pause(this.#clock, pauseBefore(tries, backoff), signal)
      }
    }
  }

  #failed(name: string, message: string): void {
    const since = this.#faults.get(name)?.since ?? new Date(this.#clock.now()).toISOString()
    this.#faults.set(name, { message, since })
    systemFacts.checkpointNotWritten(this.#logger, { target: name, reason: message })
  }
}
