import { event, type TaskId } from '@beaver/core'
import { expect, test } from 'vitest'
import {
  answer as said,
  result,
  runStarted,
  submitted,
  toolResult,
  userMessage,
} from '../../test/journal-fixture.ts'
import { modelOf } from '../../test/model-of.ts'
import { answer } from '../../test/checked-answer.ts'

test('a text that a retry copied is in the transcript once, where it was said first', async () => {
  using model = await modelOf((stream) => {
    const first = stream.log('first', { session: 's' })
    first.write(
      submitted(first.log),
      runStarted('r'),
      userMessage('r', 'zebra?'),
      said('r', 'a zebra'),
      toolResult('r', 'c', 'zebra zebra'),
    )
    const { taskseq, hash } = first.head
    first.write(
      event(
        'task_failed',
        result({ final_output: '', failure: { class: 'provider_refused', message: 'No.' } }),
      ),
    )
    const retry = stream.log('retry', { session: 's' })
    const copied = event('task_log_copied', {
      task_id: first.log.task as TaskId,
      taskseq,
      hash,
      previous_task_id: null,
      events: 3,
    })
    retry.write(
      submitted(retry.log),
      copied,
      runStarted('r'),
      userMessage('r', 'zebra?'),
      said('r', 'a zebra'),
    )
    retry.write(said('r', 'another zebra'))
  })
  const hits = (name: 'search' | 'session_search'): string[] => {
    const input = name === 'search' ? { query: 'zebra' } : { query: 'zebra', tenant: 'local' }
    return answer(model.sql, name, input).hits.map(({ task_id, role }) => `${task_id} ${role}`)
  }
  const expected = ['retry assistant', 'first tool', 'first assistant', 'first user']
  expect([hits('search'), hits('session_search')]).toEqual([expected, expected])
})
