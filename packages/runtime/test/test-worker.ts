// A worker module whose model does what the task's text says: the ways a thread can die, on demand.
import { type ChatAnswer, type ChatProvider, onlyProvider } from '@beaver/agent'
import { serveShard, type ShardPlace } from '../src/worker/index.ts'
import { systemClock } from '@beaver/core'
import { failurePolicies } from '@beaver/core/supervision'

const answer = (content: string): ChatAnswer => ({
  content,
  toolCalls: [],
  finishReason: 'stop',
  usage: { input_tokens: 1, output_tokens: 1, calls: 1 },
  model: 'm',
  responseId: null,
})

const provider: ChatProvider = {
  name: 'test',
  model: 'm',
  chat({ messages, signal }) {
    const text = messages.findLast((message) => message.role === 'user')?.content ?? ''
    switch (text) {
      case 'exit':
        return process.exit(7)
      case 'throw':
        setImmediate(() => {
          throw new Error('uncaught in a worker')
        })
        break
      case 'reject':
        void Promise.reject(new Error('unhandled in a worker'))
        break
      case 'block':
        setImmediate(block)
        break
      case 'fill the heap':
        setImmediate(fillHeap)
        break
      case 'break':
        throw new TypeError('a defect')
      case 'wait':
        break
      default:
        return Promise.resolve(answer(`said ${text}`))
    }
    return new Promise((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
    )
  },
}

/** Longer than a thread may take to say what its loops are doing, and shorter than the watch allows. */
function block(): void {
  const until = performance.now() + 1_500
  while (performance.now() < until);
}

function fillHeap(): void {
  const kept: unknown[] = []
  for (;;) kept.push(Array.from({ length: 10_000 }, (_, i) => ({ i })))
}

export async function shard({
  data,
  ...place
}: ShardPlace & { readonly data: { readonly fails?: boolean } }): Promise<void> {
  if (data.fails === true) throw new Error('the skills cannot be read')
  const nothing = { tools: [], skills: [], definitions: [], profiles: new Map(), profileDefault: null }
  await serveShard(place, {
    ...nothing,
    permissions: [],
    skillSelection: 'off',
    providers: onlyProvider(provider),
    clock: systemClock,
    random: () => 0.5,
    toolTimeoutMs: 1_000,
    failurePolicies,
  })
}
