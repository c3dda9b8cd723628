import { type Clock, systemClock } from '@beaver/core'
import { ownMs } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { headersOf, type MailRules, readMail } from './mailbox.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const own = 'beaver@team.example'
const rules: MailRules = { own, check: 'relay', knows: (address) => address === 'ada@team.example' }
const never = new AbortController().signal
const read = (text: string, clock: Clock = systemClock, signal: AbortSignal = never) =>
  readMail({ source: bytes(text), bytes: text.length }, rules, { clock, signal })

/** A mail whose body takes a time that grows with the square of its length. */
const slow = (from: string): string =>
  [
    `From: ${from}`,
    `To: ${own}`,
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    '',
    'text',
    '--b',
    'Content-Type: text/html',
    '',
    '<a href="'.repeat(100_000),
  ].join('\r\n')

describe('a mail whose body takes minutes to read', () => {
  it('costs nothing if a stranger sends it', async () => {
    // The reading of a body first sets a deadline.
    const watched: Clock = { ...systemClock, after: () => expect.unreachable('the body is read') }
    expect(await read(slow('mallory@team.example'), watched)).toMatchObject({
      kind: 'refused',
      reason: 'its sender is not among the users of the channel',
    })
  })

  it('is given up at its deadline if a user sends it, and holds up nothing else meanwhile', async () => {
    // The deadline fires after ten ticks of this thread's timer, which needs a thread that is not blocked by
    // the reading.
    const hurried: Clock = {
      ...systemClock,
      after(_ms, act) {
        let turns = 0
        const ticking = setInterval(() => ++turns === 10 && act(), 5)
        return { cancel: () => clearInterval(ticking) }
      },
    }
    expect(await read(slow('ada@team.example'), hurried)).toMatchObject({
      kind: 'refused',
      reason: 'its parts cannot be read',
    })
  })

  it('does not keep a stop waiting', async () => {
    const stop = new AbortController()
    // The reading of a body first sets a deadline, which never fires here.
    const begun: Clock = {
      ...systemClock,
      after: () => (setImmediate(() => stop.abort(new Error('stopped'))), { cancel() {} }),
    }
    await expect(read(slow('ada@team.example'), begun, stop.signal)).rejects.toThrow('stopped')
    await expect(read('From: ada@team.example\r\n\r\n', systemClock, stop.signal)).rejects.toThrow('stopped')
  })
})

describe('the headers of a mail', () => {
  it.each<[string, string, readonly string[] | null]>([
    ['folded lines', 'A: 1\r\n 2\r\n\t3\r\nB: 4\r\n\r\nC: 5', ['a=1 2\t3', 'b=4']],
    ['line feeds alone', 'A: 1\n 2\nB: 3\n\nC: 4', ['a=1 2', 'b=3']],
    ['a space before the colon', 'From : x\r\nfrom: y', ['from=x', 'from=y']],
    ['lines that are no headers', 'From x\r\n: y\r\nA: 1', ['a=1']],
    ['no body', 'A: 1', ['a=1']],
    ['nothing', '', []],
    ['a body first', '\r\n\r\nA: 1', []],
    ['a line that only some see', 'A: 1\rFrom: x\r\n\r\n', null],
    ['a null', 'A: 1\0\r\n\r\n', null],
    ['too many', 'A: 1\r\n'.repeat(10_001), null],
  ])('are read as they stand: %s', (_name, text, expected) => {
    expect(headersOf(bytes(text))?.map(({ key, value }) => `${key}=${value}`) ?? null).toEqual(expected)
  })

  it.each([
    ' x\r\n'.repeat(250_000),
    `A: ${'('.repeat(900_000)}`,
    `Authentication-Results: ${'"'.repeat(900_001)}`,
    `From: ${'a:'.repeat(450_000)}`,
    'From: a@b,'.repeat(90_000),
  ])('take little time, however they are built (%#)', async (text) => {
    expect(await ownMs(() => read(`X: y\r\n${text}\r\n\r\nbody`))).toBeLessThan(500)
  })
})
