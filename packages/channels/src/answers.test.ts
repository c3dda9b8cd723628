import { BeaverError, type DataOf, noUsage, type TaskResult, type TerminalTaskEvent } from '@beaver/core'
import { outboundMessage } from '@beaver/contracts'
import { describe, expect, it } from 'vitest'
import { approval, failed, question, refusalFor, resultAnswer, waitsFirst } from './answers.ts'

const to = { channel: 'web', chat_id: 'a', message_id: 'm', user: { name: 'ada' } }
const at = '2026-11-24T00:00:00.000Z'
const end = (type: TerminalTaskEvent, over: Partial<TaskResult> = {}) => ({
  type,
  result: {
    final_output: 'text',
    outputs: [],
    usage: noUsage,
    provider: null,
    model: null,
    simulated: false,
    failure: null,
    ...over,
  },
})

describe('the answer to a message', () => {
  it('is the result of a task that completed, or that has a text although it is incomplete', () => {
    expect(resultAnswer(to, 't', end('task_completed'), at)).toMatchObject({
      kind: 'answer',
      text: 'text',
      error: null,
      in_reply_to: 'm',
    })
    expect(resultAnswer(to, 't', end('task_incomplete'), at)).toMatchObject({ kind: 'answer', text: 'text' })
    expect(resultAnswer(to, 't', end('task_completed', { final_output: '' }), at)).toMatchObject({
      kind: 'answer',
      text: '',
    })
  })

  it('is an error of a task that has no text, with the class of its failure', () => {
    const failure = { class: 'provider_timeout', message: 'It did not answer.' } as TaskResult['failure']
    expect(resultAnswer(to, 't', end('task_failed', { failure }), at)).toMatchObject({
      kind: 'error',
      text: 'There is no answer to this message: It did not answer.',
      error: { code: 'provider_timeout', message: 'It did not answer.' },
    })
    expect(resultAnswer(to, 't', end('task_cancelled', { final_output: '' }), at).error).toEqual({
      code: 'cancelled',
      message: 'The task is cancelled.',
    })
    expect(resultAnswer(to, 't', end('task_incomplete', { final_output: '' }), at).error?.code).toBe(
      'incomplete',
    )
  })

  it.each([
    [
      'The endpoint 127.0.0.1:24999 refused the request (HTTP 400). It says: no',
      'The endpoint refused the request (HTTP 400). It says: no',
    ],
    [
      'The endpoint llm.corp.example cannot be reached: getaddrinfo ENOTFOUND llm.corp.example. Check it.',
      'The endpoint cannot be reached: getaddrinfo ENOTFOUND. Check it.',
    ],
    ['The endpoint ended. connect ECONNREFUSED ::1:24999', 'The endpoint ended. connect ECONNREFUSED'],
    [
      'It says: see https://llm.corp.example:8443/v1?key=1 (or nats://10.0.0.7).',
      'It says: see (address) (or (address)).',
    ],
    [
      'At localhost:11434, [::1]:80, 10.0.0.7 and llm.corp:8080.',
      'At (address), (address), (address) and (address).',
    ],
    [
      'See https://[REDACTED]@models.example/v1 for it, or https://[redacted]@m.example:8443/v1.',
      'See (address) for it, or (address).',
    ],
    [
      'See https://ada:pw@models.example/v1, https://[fd00::12]:8443/v1 and (http://m.example/v1).',
      'See (address), (address) and ((address)).',
    ],
    [
      'At fd00::12, fe80::1%eth0, ::1 and 2001:db8:0:0:0:0:0:1.',
      'At (address), (address), (address) and (address).',
    ],
    [
      'At unix:/run/model.sock, unix:///run/model.sock and /run/model/a.sock: no',
      'At (address), (address) and (address): no',
    ],
    ['At model.prod.svc.cluster.local or ada@models.example:8443.', 'At (address) or ada@(address).'],
    [
      'The endpoint m.example:80 refused the API key: check OPENAI_API_KEY (HTTP 401). It says: no',
      'The endpoint refused the API key (HTTP 401). It says: no',
    ],
    [
      "The endpoint m.example does not have the model m-4.1 or the path: check the model's name and the base URL (HTTP 404).",
      'The endpoint does not have the model m-4.1 or the path (HTTP 404).',
    ],
    [
      'The key is missing. Set OPENAI_API_KEY or $NATS_URL.',
      'The key is missing. Set (setting) or $(setting).',
    ],
    [
      'It is not in the altnames: Host: llm.corp. is not DNS:other.corp',
      'It is not in the altnames: Host: (address). is not DNS: (address)',
    ],
  ])('shows no address of a server: %j', (message, told) => {
    const failure = { class: 'provider_unavailable', message } as TaskResult['failure']
    const { text, error } = resultAnswer(to, 't', end('task_failed', { failure }), at)
    expect(text).toBe(
      `There is no answer to this message: ${told}\nThe operator of Beaver sees more: beaver show t`,
    )
    expect(error?.message).toContain(told)
  })

  it.each([
    'plan.v2.pdf of 12:30 is 3.5 MB: 1.2.3',
    '"ada@mail.team.example" is not among the users.',
    'The endpoint failed. Write it again.',
    'mcp:files:read',
    'std::vector, a::b and add::bee at 12:30:45 of line:10, see [1] (ERR_INVALID_URL and MAX_TOKENS).',
    'The endpoint failed (HTTP 502). It says: check your plan (now)',
    'config.local, models.internal and src/unix.ts',
  ])('shows what is no address: %j', (message) => {
    const failure = { class: 'x', message } as unknown as TaskResult['failure']
    expect(resultAnswer(to, 't', end('task_failed', { failure }), at).text).toBe(
      `There is no answer to this message: ${message}`,
    )
  })

  it('tells the second person of a chat in words for people that the chat is of somebody else', () => {
    const refused = new BeaverError(
      'not_allowed',
      'The session web:a belongs to a user. Use another session id.',
      {
        problems: [{ path: 'session_id', message: '' }],
      },
    )
    expect(refusalFor(refused)).toMatch(/^This chat belongs to the person who wrote to Beaver here first/)
    expect(refusalFor(new BeaverError('not_allowed', 'Something else.'))).toBe('Something else.')
  })

  it('says what a chat waits for, in a few words, and who may decide', () => {
    const call = {
      kind: 'call',
      task_id: 't',
      code: 'k3f-09d',
      summary: `echo: a\nb\u202e ${'x'.repeat(1_000)}`,
      forAll: false,
    } as const
    const asked = {
      kind: 'question',
      task_id: 't',
      code: 'aaa-aaa',
      summary: 'Which branch?',
      forAll: true,
    } as const
    const told = (
      waiting: Parameters<typeof waitsFirst>[1]['waiting'],
      approvers: readonly string[],
      who = 'Bob',
      isOfAnother = false,
    ) => waitsFirst(to, { waiting, approvers, who, isOfAnother }, at)
    const again = '\nYour message was not read. Write it again when this is decided.'
    expect(told([call], ['Ada'])).toMatchObject({ kind: 'error', error: { code: 'waits_for_decision' } })
    expect(told([call], ['Ada']).text).toMatch(
      /^This chat waits for: approve k3f-09d or deny k3f-09d \(echo: a b\\u\{202e\} x+…\)\n/,
    )
    expect(told([call], ['Ada']).text.endsWith(`${again} Ada may decide.`)).toBe(true)
    expect(told([call], ['Ada'], 'Ada').text.endsWith(again)).toBe(true)
    expect(told([call], ['Ada'], 'Ada', true).text).toMatch(
      /\nYour message was not read\. This chat belongs to the person who wrote to Beaver here first/,
    )
    expect(told([call], []).text).toContain(
      'a decision that nobody in this channel may give: beaver approve t (echo',
    )
    expect(told([asked], ['Ada']).text).toBe(
      `This chat waits for: answer aaa-aaa … or decline aaa-aaa (Which branch?)${again}`,
    )
    expect(told([{ ...asked, forAll: false }], ['Ada']).text).toContain(`${again} Ada may decide.`)
    expect(told([{ ...asked, forAll: false }], []).text).toContain(
      'an answer that nobody in this channel may give: beaver answer t (Which branch?)',
    )
    expect(told([asked, asked], ['Ada']).text.split('\n')).toHaveLength(4)
    expect(
      told(
        Array.from({ length: 7 }, () => asked),
        [],
      ).text,
    ).toContain('\nand 2 more\n')
    expect(
      told(
        Array.from({ length: 100 }, () => call),
        ['Ada'],
      ).text.length,
    ).toBeLessThan(1_500)
  })

  it('fits into a message, however long the text is, and says where the whole is', () => {
    const { text, ...rest } = resultAnswer(
      to,
      't',
      end('task_completed', { final_output: '\u{1F9AB}'.repeat(500_000) }),
      at,
    )
    expect(text.endsWith('\n… The whole answer: beaver show t')).toBe(true)
    expect(outboundMessage.safeParse({ ...rest, text }).success).toBe(true)
    expect(
      outboundMessage.safeParse(failed(to, { code: 'x', message: '\u0000'.repeat(1e6) }, at)).success,
    ).toBe(true)
  })

  it('asks a person with everything visible, bounded, and with the code and who may answer', () => {
    const asked = {
      call_id: 'c',
      tool_name: 'run_command',
      subject: `rm \u202egnp.exe ${'x'.repeat(100_000)}`,
      rule: null,
      preview: {
        effect: 'create',
        path: 'a\u0000b',
        bytes: 5,
        sha256: '',
        before: null,
        diff: '+hello\n+there',
        diff_lines_left_out: 0,
      },
    } satisfies DataOf<'approval_requested'>
    const { text, kind } = approval(
      to,
      { task_id: 't', code: 'k3f-09d', approvers: ['Ada', 'Bo\u202eb'], asked, args: '{"command":"rm"}' },
      at,
    )
    expect(kind).toBe('approval')
    expect(text).toContain('rm \\u{202e}gnp.exe')
    expect(text).toContain('It would create a\\u{0}b (5 bytes):\n+hello\n+there')
    expect(text).toContain(
      'Answer "approve k3f-09d" or "deny k3f-09d <why>". To change its arguments: "approve k3f-09d {…}" with all of them. Ada, Bo\\u{202e}b may decide.',
    )
    expect(text).toContain('Its arguments: {"command":"rm"}')
    expect(text.length).toBeLessThan(10_000)
    expect(
      approval(to, { task_id: 't', code: 'k3f-09d', approvers: [], asked, args: null }, at).text,
    ).toContain('Nobody in this channel may decide. Decide with: beaver approve t')
  })

  it('shows a question with its options, how to answer it, and who may', () => {
    const asked = { message: 'Which \u202ebranch?', options: ['main', 'next'], several: true }
    const open = {
      runId: 'r',
      agent: 'root',
      callId: 'c',
      tool: 'ask_user',
      index: 0,
      question: asked,
      taskseq: 5,
    }
    const told = question(to, { asked: { task_id: 't', code: 'k3f-09d', open }, approvers: null }, at)
    expect(told).toMatchObject({
      kind: 'question',
      question: { code: 'k3f-09d', options: ['main', 'next'], several: true, free_text: false },
    })
    expect(told.text.split('\n')).toEqual([
      'Which \\u{202e}branch?',
      '  1) main',
      '  2) next',
      'Answer with the numbers or the texts of options, with commas between them.',
      'Write the answer as your next message here, or "answer k3f-09d …". To give none: "decline k3f-09d".',
    ])
    const ofTool = { ...open, tool: 'deploy', question: { message: 'Really?'.repeat(10_000) } }
    const long = question(
      to,
      { asked: { task_id: 't', code: 'k3f-09d', open: ofTool }, approvers: ['Ada'] },
      at,
    )
    expect(long.text).toMatch(/^The tool deploy asks:\n/)
    expect(long.text).toMatch(/ Ada may answer\.$/)
    expect(outboundMessage.safeParse(long).success).toBe(true)
    expect(
      question(to, { asked: { task_id: 't', code: 'k3f-09d', open: ofTool }, approvers: [] }, at).text,
    ).toMatch(/\nNobody in this channel may answer\. Answer with: beaver answer t$/)
  })
})
