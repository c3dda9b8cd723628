// What the tests of budgets share: prices, answers, a tool, and a random order that follows from a seed.
import { type ChatAnswer, defineTool } from '@beaver/agent'
import type { DataOf, EventType } from '@beaver/core'
import type { Budget } from '@beaver/core/budget'
import type { RecordedEvent } from '@beaver/core/journal'
import { z } from 'zod'
import type { BudgetRules } from '../src/budget-rules.ts'

export const price = { input: 1, output: 10 }

export const rules = (...budgets: readonly Budget[]): BudgetRules => ({
  ...{ budgets, priceFor: () => price, refuses: () => false },
})

/** It costs 0.0101 USD. */
export const answer = (over: Partial<ChatAnswer> = {}): ChatAnswer => ({
  ...{ content: 'done', toolCalls: [], finishReason: 'stop', model: 'm', responseId: null },
  usage: { input_tokens: 100, output_tokens: 1_000, calls: 1 },
  ...over,
})

export const look = defineTool({
  ...{ name: 'look', description: 'Looks.', input: z.strictObject({ at: z.number() }) },
  run: ({ at }) => `seen ${at}`,
})

/** An answer that calls `look`. */
export const looksAt = (at: number, calls = 1): ChatAnswer =>
  answer({
    ...{ content: '', finishReason: 'tool_calls' },
    toolCalls: Array.from({ length: calls }, (_, i) => ({
      ...{ id: `c${at}.${i}`, name: 'look', arguments: `{"at":${at * 100 + i}}` },
    })),
  })

export const dataOf = <T extends EventType>(events: readonly RecordedEvent[], type: T): DataOf<T>[] =>
  events.flatMap((each) => (each.type === type ? [each.data as DataOf<T>] : []))

/** A campaign tries more seeds than the gate. */
export const seeds = Array.from({ length: Number(process.env['BEAVER_CAMPAIGN_SEEDS'] ?? 20) }, (_, i) => i)

/** Random numbers in [0, 1) that follow from a seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
