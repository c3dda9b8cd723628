// Ends a run whose answer is recorded without the end: facts must be gathered first, or a crash came between.
import { event, noUsage, type RunState } from '@beaver/core'
import { findFiles } from './find-files.ts'
import type { LoopWork } from './loop-work.ts'
import { finalEvents } from './run-ends.ts'

export async function finalize(work: LoopWork, run: RunState): Promise<void> {
  // The fold has counted the usage of the answer already.
  const answer = { content: run.outputText, finishReason: run.finishReason ?? 'stop', usage: noUsage }
  const final = finalEvents(run, answer, work.isTool)
  const wanted = work.files.length > 0 && final.every((each) => each.type === 'run_completed')
  const found = wanted ? [event('workspace_files_checked', { files: await findFiles(work.spec.workspace, work.files) }, run.start.run_id)] : []
  await work.record([...found, ...final])
}
