// The one line a lost thread leaves in the daemon's log: who was on it, what is suspect, what was started again.
import type { Loss, PlacedLoop } from './shard.ts'

const shownMax = 5

export function tellLoss({ thread, message, charge, loops, charged, stuck }: Loss): void {
  const tools = [...new Set([...charge.loops.values()].flat())]
  const suspect = charge.loops.size === 0 ? 'no suspect' : `suspect: ${tools.length === 0 ? 'an answer of the model' : tools.join(', ')}`
  const of = charged.length === 0 ? '' : ` (${shown(charged)})`
  const again = `${loops.length} runs were on it and start again from the journal, ${charged.length} of them charged`
  process.emitWarning(`Worker thread ${thread}: ${message}; ${suspect}${of}; ${again}${stuck ? '; it does not end' : ''}`, 'BeaverWorker')
}

function shown(loops: readonly PlacedLoop[]): string {
  const names = loops.slice(0, shownMax).map(({ spec }) => `task ${spec.taskId} run ${spec.start.run_id}`)
  return `${names.join(', ')}${loops.length > shownMax ? ` and ${loops.length - shownMax} more` : ''}`
}
