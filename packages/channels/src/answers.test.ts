import { type DataOf, noUsage, type TaskResult, type TerminalTaskEvent } from '@beaver/core'
import { outboundMessage } from '@beaver/contracts'
import { describe, expect, it } from 'vitest'
import { failed, question, resultAnswer } from './answers.ts'

const to = { channel: 'web', chat_id: 'a', message_id: 'm' }
const at = '2026-11-24T00:00:00.000Z'
const end = (type: TerminalTaskEvent, over: Partial<TaskResult> = {}) => ({
  type,
  data: { final_output: 'text', outputs: [], usage: noUsage, provider: null, model: null, simulated: false, failure: null, ...over },
})

describe('the answer to a message', () => {
  it('is the result of a task that completed, or that has a text although it is incomplete', () => {
    expect(resultAnswer(to, 't', end('task_completed'), at)).toMatchObject({ kind: 'answer', text: 'text', error: null, in_reply_to: 'm' })
    expect(resultAnswer(to, 't', end('task_incomplete'), at)).toMatchObject({ kind: 'answer', text: 'text' })
    expect(resultAnswer(to, 't', end('task_completed', { final_output: '' }), at)).toMatchObject({ kind: 'answer', text: '' })
  })

  it('is an error of a task that has no text, with the class of its failure', () => {
    const failure = { class: 'provider_timeout', message: 'It did not answer.' } as TaskResult['failure']
    expect(resultAnswer(to, 't', end('task_failed', { failure }), at)).toMatchObject({
      kind: 'error',
      text: 'There is no answer to this message: It did not answer.',
      error: { code: 'provider_timeout', message: 'It did not answer.' },
    })
    expect(resultAnswer(to, 't', end('task_cancelled', { final_output: '' }), at).error).toEqual({ code: 'cancelled', message: 'The task is cancelled.' })
    expect(resultAnswer(to, 't', end('task_incomplete', { final_output: '' }), at).error?.code).toBe('incomplete')
  })

  it('fits into a message, however long the text is, and says where the whole is', () => {
    const { text, ...rest } = resultAnswer(to, 't', end('task_completed', { final_output: '\u{1F9AB}'.repeat(500_000) }), at)
    expect(text.endsWith('\n… The whole answer: beaver show t')).toBe(true)
    expect(outboundMessage.safeParse({ ...rest, text }).success).toBe(true)
    expect(outboundMessage.safeParse(failed(to, { code: 'x', message: '\u0000'.repeat(1e6) }, at)).success).toBe(true)
  })

  it('asks a person with everything visible, bounded, and with the code and who may answer', () => {
    const asked = {
      call_id: 'c',
      tool_name: 'run_command',
      subject: `rm \u202egnp.exe ${'x'.repeat(100_000)}`,
      rule: null,
      preview: { effect: 'create', path: 'a\u0000b', bytes: 5, sha256: '', before: null, diff: '+hello\n+there', diff_lines_left_out: 0 },
    } satisfies DataOf<'approval_requested'>
    const { text, kind } = question(to, { task_id: 't', code: 'k3f-09d', approvers: ['Ada', 'Bo\u202eb'], asked }, at)
    expect(kind).toBe('approval')
    expect(text).toContain('rm \\u{202e}gnp.exe')
    expect(text).toContain('It would create a\\u{0}b (5 bytes):\n+hello\n+there')
    expect(text).toContain('Answer "approve k3f-09d" or "deny k3f-09d <why>". Ada, Bo\\u{202e}b may decide.')
    expect(text.length).toBeLessThan(10_000)
    expect(question(to, { task_id: 't', code: 'k3f-09d', approvers: [], asked }, at).text).toContain(
      'Nobody in this channel may decide. Decide with: beaver approve t',
    )
  })
})
