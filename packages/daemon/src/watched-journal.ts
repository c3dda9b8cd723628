// The journal of a daemon that watches it: nothing is written before the journal was compared with what this
// daemon saw last, and nothing while it is not as it was. A write that gets a place before the last one shows
// another journal: the daemon stops before its next write. Reading goes on, so that people can look at what
// is there.
import type { JournalWatch, NatsJournal, Subjects } from '@beaver/nats'

export function watchedJournal(journal: NatsJournal, watch: JournalWatch, subjects: Subjects): NatsJournal {
  const gated = async <Outcome>(write: () => Promise<Outcome>): Promise<Outcome> => {
    const wait = watch.gate()
    if (wait !== null) await wait
    return write()
  }
  /** @param before the last message that was seen before the write */
  const noted = async (
    sequence: number,
    subject: string,
    payload: Uint8Array | undefined,
    before: number,
  ): Promise<void> => {
    if (sequence <= before) await watch.doubt()
    else if (payload !== undefined) watch.acknowledged({ sequence, subject, payload })
  }
  const append: NatsJournal['append'] = (entry) =>
    gated(async () => {
      const before = watch.sequence
      const outcome = await journal.append(entry)
      if (outcome.kind === 'appended')
        await noted(outcome.revision, subjects.events(entry.log), entry.payloads.at(-1), before)
      return outcome
    })
  const accept: NatsJournal['accept'] = (acceptance) =>
    gated(async () => {
      const before = watch.sequence
      const outcome = await journal.accept(acceptance)
      const { log, payloads, followers = [] } = acceptance
      if (outcome.kind !== 'accepted') return outcome
      const last = followers.at(-1)
      const subject =
        last !== undefined
          ? subjects.accepted(last.log)
          : payloads.length === 1
            ? subjects.accepted(log)
            : subjects.events(log)
      await noted(outcome.lastRevision, subject, last?.payload ?? payloads.at(-1), before)
      return outcome
    })
  // Everything else is the journal's own, also what it computes when it is asked.
  return Object.assign(Object.create(journal) as NatsJournal, { append, accept })
}
