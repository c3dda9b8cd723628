import fc from 'fast-check'
import { expect, it } from 'vitest'
import { headTail } from './run-command.ts'

it('keeps everything that fits', () => {
  const kept = headTail(10)
  for (const part of ['héll', 'o', '', ' 你']) kept.add(Buffer.from(part))
  expect([kept.text(), kept.bytesLeftOut]).toEqual(['héllo 你', 0])
})

it('keeps the beginning and the end of more, and says how much lies between', () => {
  const kept = headTail(10)
  for (let i = 0; i < 10; i++) kept.add(Buffer.from(String(i).repeat(7)))
  expect(kept.text()).toBe('00000\n[… 60 bytes left out …]\n99999')
})

it('shows no half characters at the gap', () => {
  const kept = headTail(10)
  kept.add(Buffer.from('你'.repeat(10)))
  expect(kept.text()).toBe('你\n[… 20 bytes left out …]\n你')
})

it('has the same beginning and end however the output is divided, in bounded memory', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 30 })),
      fc.integer({ min: 2, max: 40 }),
      (chunks, bytesMax) => {
        const [divided, whole] = [headTail(bytesMax), headTail(bytesMax)]
        for (const chunk of chunks) divided.add(Buffer.from(chunk))
        const all = Buffer.concat(chunks)
        whole.add(all)
        expect([divided.text(), divided.bytesLeftOut]).toEqual([
          whole.text(),
          Math.max(0, all.length - bytesMax),
        ])
      },
    ),
  )
})
