// Ends a run whose answer is recorded without the end: facts must be gathered first, or a crash came between.
import { type DomainEvent, event, noUsage, type RunState } from '@beaver/core'
import { findFiles } from './find-files.ts'
import type { LoopWork } from './loop-work.ts'
import { finalEvents } from './run-ends.ts'

export async function finalize(work: LoopWork, run: RunState): Promise<void> {
  // The fold has counted the usage of the answer already.
  const answer = { content: run.outputText, finishReason: run.finishReason ?? 'stop', usage: noUsage }
  const final = finalEvents(run, answer, work.isTool)
  const wanted = work.files.length > 0 && final.every((each) => each.type === 'run_completed')
  await work.record([...(wanted ? await filesFound(work) : []), ...final])
}

/** The facts about files that the result of the run is checked against. */
export async function filesFound({
  files,
  spec,
  start,
}: Pick<LoopWork, 'files' | 'spec' | 'start'>): Promise<DomainEvent[]> {
  return files.length === 0
    ? []
    : [event('workspace_files_checked', { files: await findFiles(spec.workspace, files) }, start.run_id)]
}
