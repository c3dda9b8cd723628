// A task whose calls a person is asked about, on several models, with a conversation that grew too long.
import { type DataOf, type DomainEvent, event } from '@beaver/core'
import {
  answer,
  type LogWriter,
  result,
  runCompleted,
  runStarted,
  submitted,
  toolResult,
  toolStarted,
  usage,
  userMessage,
} from './journal-fixture.ts'

/**
 * A root agent on three models: `cheap` chose its skill and summed up, `main` failed and `small` answered. Of
 * two commands that had to be allowed the first was and the second was not; a worker waits still when `open`.
 */
export function approvalTask(writer: LogWriter, { open = false } = {}): void {
  const run = 'run-a'
  const used = (input: number): DataOf<'run_completed'>['usage'] => usage(input, 1)
  const command = (id: string, text: string): { id: string; name: string; arguments: string } => ({
    id,
    name: 'run_command',
    arguments: JSON.stringify({ command: text }),
  })
  const asks = (id: string, subject: string): DomainEvent =>
    event('approval_requested', { call_id: id, tool_name: 'run_command', subject, rule: 'run_command' }, run)
  const candidates = [
    { name: 'report', score: 2 },
    { name: 'other', score: 1 },
  ]
  writer.write(submitted(writer.log, 'Clean up'))
  writer.epoch = 1
  writer.write(event('task_claimed', { daemon: 'd1' }), runStarted(run))
  writer.write(
    event(
      'skill_selection_recorded',
      {
        query: 'Clean up',
        recall: 'lexical',
        candidates,
        chosen: ['report'],
        usage: used(100),
        provider_name: 'openai',
        model: 'cheap',
        failure: null,
      },
      run,
    ),
    event(
      'skill_activation_snapshotted',
      { skills: [{ name: 'report', sha256: 'ab', content: 'hidden skill body' }] },
      run,
    ),
    event(
      'system_prompt_snapshotted',
      {
        content: 'hidden prompt',
        context: [
          { part: 'base', tokens_estimated: 400 },
          { part: 'tools', tokens_estimated: 1_000 },
        ],
      },
      run,
    ),
    userMessage(run, 'Clean up'),
  )
  const failure = { class: 'provider_unavailable', message: 'HTTP 503' } as const
  writer.write(
    event(
      'provider_call_failed',
      { failure, tries: 1, retry_in_ms: 0, status: 503, provider_name: 'main' },
      run,
    ),
  )
  writer.write(
    answer(run, null, [command('c1', 'ls -la'), command('c2', 'rm -rf build')]),
    asks('c1', 'ls -la'),
    asks('c2', 'rm -rf build'),
  )
  if (open) return
  writer.write(event('approval_granted', { call_id: 'c1', by: 'anna' }, run))
  writer.write(toolStarted(run, 'c1', 'run_command'), toolResult(run, 'c1', 'build', { tool: 'run_command' }))
  writer.write(event('approval_denied', { call_id: 'c2', by: 'ben', reason: 'not that folder' }, run))
  writer.write(toolResult(run, 'c2', 'Refused by ben.', { tool: 'run_command', error: 'approval_denied' }))
  writer.write(
    event(
      'context_compacted',
      { results: [{ call_id: 'c1', tool_name: 'run_command', chars: 12_000 }] },
      run,
    ),
    event(
      'context_summarized',
      {
        content: 'hidden summary',
        messages_dropped: 3,
        usage: used(300),
        provider_name: 'openai',
        model: 'cheap',
      },
      run,
    ),
  )
  writer.write(answer(run, 'All is clean.'), runCompleted(run))
  writer.write(event('task_completed', result({ final_output: 'All is clean.' })))
}
