// Finds the state of the journal that a person may accept (journal-watch.ts).
import { BeaverError } from '@beaver/core'
import { jetstreamManager } from '@nats-io/jetstream'
import type { NatsConnection } from '@nats-io/nats-core'
import { archivesOf, lookWithArchived } from './archived-look.ts'
import {
  chosenSettings,
  type JournalAcceptance,
  lostText,
  missingIn,
  noHash,
  otherSettings,
} from './journal-judge.ts'
import { hashAt } from './message-hash.ts'
import { lookAt } from './stream-pulse.ts'
import type { Subjects } from './subjects.ts'

/**
 * The state that an acceptance made now would be for. Messages that are in an archive are not missing.
 *
 * @throws {BeaverError} `stream_missing`, `unreachable`
 */
export async function acceptableState(
  nc: NatsConnection,
  subjects: Subjects,
): Promise<Omit<JournalAcceptance, 'id' | 'at' | 'by' | 'reason' | 'findings'>> {
  const seen = await lookAt(nc, subjects.stream)
  if (seen.kind === 'missing')
    throw new BeaverError(
      'stream_missing',
      `The journal stream ${subjects.stream} does not exist. Restore it, or start Beaver, which makes a new one.`,
    )
  if (seen.kind === 'unknown')
    throw new BeaverError(
      'unreachable',
      `The journal stream ${subjects.stream} does not answer: ${seen.reason}.`,
    )
  const look =
    seen.lastSequence === seen.messages
      ? seen
      : ((await lookWithArchived(nc, archivesOf(nc, subjects))) ?? seen)
  const { identity, config, lost } = look
  const jsm = await jetstreamManager(nc, { checkAPI: false })
  // The last messages may be the ones that cannot be read.
  let sequence = look.lastSequence
  let hash = await hashAt(jsm, subjects.stream, sequence)
  for (; hash === null && sequence > 0; hash = await hashAt(jsm, subjects.stream, sequence)) sequence--
  return {
    identity,
    sequence,
    hash: hash ?? noHash,
    missing: missingIn(look),
    lost: lost === null ? null : lostText(lost),
    settings: otherSettings(config, subjects.captured).map(({ text }) => text),
    chosen: chosenSettings(config),
  }
}
