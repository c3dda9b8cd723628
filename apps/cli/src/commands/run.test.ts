import type { LiveUpdate } from '@beaver/core'
import { expect, it } from 'vitest'
import { hearLive } from './run.ts'

/** A client whose updates are lost unless somebody listens. */
function client() {
  const said: LiveUpdate[] = []
  const state = { listens: false, over: false }
  return {
    state,
    say: (text: string) => void (state.listens && said.push({ text } as unknown as LiveUpdate)),
    async *live(_: string, { signal }: { readonly signal: AbortSignal }): AsyncGenerator<LiveUpdate> {
      state.listens = true
      signal.addEventListener('abort', () => (state.over = true))
      for (;;) {
        const next = said.shift()
        if (next !== undefined) yield next
        else if (signal.aborted) return
        else await new Promise((resolve) => setImmediate(resolve))
      }
    },
  }
}

it('hears what is said before anybody reads it, and stops', async () => {
  const from = client()
  from.say('lost')
  const heard = hearLive(from, 't')
  from.say('first')
  from.say('second')
  const { updates } = heard
  expect([(await updates.next()).value, (await updates.next()).value]).toEqual([
    { text: 'first' },
    { text: 'second' },
  ])
  heard[Symbol.dispose]()
  expect([(await updates.next()).done, from.state.over]).toEqual([true, true])
})
