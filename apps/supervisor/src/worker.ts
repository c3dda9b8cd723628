// The worker thread's composition root: builds what all loops of the thread share, then serves its shard.
import type { MessagePort } from 'node:worker_threads'
import { builtinTools, loadSkills } from '@beaver/agent'
import { systemClock } from '@beaver/core'
import { openAiChatProvider } from '@beaver/providers'
import { serveShard } from '@beaver/runtime/worker'
import type { ModelChoice } from './model.ts'

export interface WorkerData {
  readonly model: ModelChoice
  readonly skillFolders: readonly string[]
  readonly toolTimeoutMs: number
}

/** Called by Piscina, once a thread; ends when the port closes. */
export async function shard({ port, data }: { port: MessagePort; data: WorkerData }): Promise<void> {
  const { provider, baseURL, apiKey, model, timeoutMs } = data.model
  const { skills } = await loadSkills(data.skillFolders)
  await serveShard(port, {
    provider: openAiChatProvider({ name: provider, apiKey, model, timeoutMs, ...(baseURL === null ? {} : { baseURL }) }),
    tools: builtinTools(),
    skills,
    clock: systemClock,
    random: Math.random,
    toolTimeoutMs: data.toolTimeoutMs,
  })
}
