import { calls, memoryHost, rootSpec, says, streams, until, virtualClock } from '@beaver/testing'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { advanceUntilSettled, begin, turns } from '../../test/loop-kit.ts'
import { ProviderError } from '../provider/chat-provider.ts'
import { liveText } from './live-text.ts'

const watched = () => {
  const clock = virtualClock(0)
  const sent: { at: number; call: number; offset: number; text: string }[] = []
  return { clock, sent, live: liveText(clock, (delta) => void sent.push({ at: clock.now(), ...delta })) }
}

describe('pieces of an answer', () => {
  it('are passed on at once, then at most every 50 ms, the rest before the answer is recorded', () => {
    const { clock, sent, live } = watched()
    const writer = live.begin(1)
    for (const text of ['a', 'b', 'c']) writer.write(text)
    clock.advance(49)
    writer.write('d')
    expect(sent).toEqual([{ at: 0, call: 1, offset: 0, text: 'a' }])
    clock.advance(1)
    writer.write('e')
    writer.finish()
    expect(sent.slice(1)).toEqual([
      { at: 50, call: 1, offset: 1, text: 'bcd' },
      { at: 50, call: 1, offset: 4, text: 'e' },
    ])
  })

  it('of a try that failed are forgotten, and what comes after its end is not heard', () => {
    const { clock, sent, live } = watched()
    const first = live.begin(1)
    first.write('a')
    first.write('b')
    first.drop()
    first.write('c')
    clock.advance(1_000)
    const second = live.begin(1)
    second.write('x')
    second.finish()
    second.write('late')
    second.finish()
    expect(sent.map(({ offset, text }) => [offset, text])).toEqual([
      [0, 'a'],
      [0, 'x'],
    ])
  })

  it('are never larger than a message, however much comes at once', () => {
    const { sent, live } = watched()
    const whole = '\u0001'.repeat(250_000)
    live.begin(1).write(whole)
    expect(sent.map(({ offset }) => offset)).toEqual([0, 100_000, 200_000])
    expect(sent.map(({ text }) => text).join('')).toBe(whole)
    for (const each of sent) expect(Buffer.byteLength(JSON.stringify(each))).toBeLessThan(1_000_000)
  })

  it('join to the whole answer, whatever comes when, each where its offset says, 50 ms apart', () => {
    const step = fc.tuple(fc.string({ maxLength: 5 }), fc.nat(80))
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const { clock, sent, live } = watched()
        const writer = live.begin(1)
        for (const [text, waitMs] of steps) {
          writer.write(text)
          clock.advance(waitMs)
        }
        const before = sent.length
        writer.finish()
        expect(sent.map(({ text }) => text).join('')).toBe(steps.map(([text]) => text).join(''))
        let offset = 0
        for (const each of sent) {
          expect(each.offset).toBe(offset)
          offset += each.text.length
        }
        for (const [i, each] of sent.slice(1, before).entries())
          expect(each.at - (sent[i]?.at ?? 0)).toBeGreaterThanOrEqual(50)
      }),
    )
  })
})

describe('a run that somebody follows', () => {
  const replies = [{ ...calls(['add', { a: 1, b: 1 }]), content: 'I add.' }, says('It is two.')]
  const spoken = [
    ({ onText }: { onText?: (text: string) => void }) => (
      onText?.('I '),
      onText?.('add.'),
      { ...calls(['add', { a: 1, b: 1 }]), content: 'I add.' }
    ),
    streams(['It ', 'is ', 'two.']),
  ]
  const journal = (host: ReturnType<typeof memoryHost>) =>
    host.events.map(({ type, data }) => ({ type, data }))

  it('passes on what is said, call by call, and its journal is the same as without', async () => {
    const loop = begin({ replies: spoken, spec: rootSpec({ stream: true }) })
    await loop.end
    const said = (call: number): string =>
      loop.host.deltas.flatMap((delta) => (delta.call === call ? [delta.text] : [])).join('')
    expect([said(1), said(2)]).toEqual(['I add.', 'It is two.'])
    const quiet = begin({ replies, spec: rootSpec() })
    await quiet.end
    expect(journal(loop.host)).toEqual(journal(quiet.host))
    expect(quiet.host.deltas).toEqual([])
    expect(quiet.provider.requests.every(({ onText }) => onText === undefined)).toBe(true)
  })

  it('begins again at 0 when the stream broke, under the same number', async () => {
    const loop = begin({
      replies: [
        streams(['It ', 'is'], new ProviderError('provider_timeout', 'broke')),
        streams(['It is two.']),
      ],
      spec: rootSpec({ stream: true }),
    })
    await advanceUntilSettled(loop)
    expect((await loop.end).facts.outputText).toBe('It is two.')
    expect(loop.host.deltas.map(({ call, offset, text }) => [call, offset, text])).toEqual([
      [1, 0, 'It '],
      [1, 0, 'It is two.'],
    ])
  })

  it('all of an answer is passed on before it is durable', async () => {
    const host = memoryHost()
    const loop = begin({ replies: [streams(['a', 'b', 'c'])], spec: rootSpec({ stream: true }), host })
    host.hold('assistant_message_added')
    await until('the answer waits', () => host.waiting.length === 1)
    expect(host.deltas.map(({ text }) => text).join('')).toBe('abc')
    host.settle()
    await loop.end
    await turns()
    expect(host.deltas.map(({ text }) => text).join('')).toBe('abc')
  })
})
