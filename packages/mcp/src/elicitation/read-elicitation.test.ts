// What a person is asked when a server asks, and what the server gets.
import { describe, expect, it } from 'vitest'
import { readElicitation } from './read-elicitation.ts'

const asks = (params: unknown) => {
  const read = readElicitation('shop', params)
  if (read.kind !== 'question') throw new Error(read.why)
  return read
}
const refusal = (params: unknown): string => {
  const read = readElicitation('shop', params)
  return read.kind === 'refused' ? read.why : 'it is asked'
}
const form = (properties: object, required: string[] = Object.keys(properties), message = 'Well?') => ({
  message,
  requestedSchema: { type: 'object', properties, required },
})
const accept = (answers: string[]) => ({ action: 'accept' as const, answers })

describe('a form of one field', () => {
  it('is a free text if any text will do, with the name of the server and a warning', () => {
    const { question, answerOf } = asks(
      form({ name: { type: 'string', title: 'Name', description: 'Of the guest' } }),
    )
    expect(question).toMatchObject({ free_text: true })
    expect(question.message).toMatch(
      /^The MCP server shop asks: "Well\?"\nName \(name\): Of the guest\nDo not answer with a password/,
    )
    expect(answerOf(accept(['Ada']))).toEqual({ action: 'accept', content: { name: 'Ada' } })
    expect(answerOf({ action: 'decline' })).toEqual({ action: 'decline' })
    expect(answerOf({ action: 'cancel' })).toEqual({ action: 'cancel' })
  })

  it.each([
    ['values', { type: 'string', enum: ['a', 'b'] }, ['a', 'b'], 'b', 'b'],
    [
      'values with names',
      { type: 'string', enum: ['a', 'b'], enumNames: ['Apple', 'Banana'] },
      ['Apple', 'Banana'],
      'Banana',
      'b',
    ],
    ['titled values', { type: 'string', oneOf: [{ const: 'a', title: 'Apple' }, { const: 'b', title: 'Banana' }] }, ['Apple', 'Banana'], 'Apple', 'a'], // prettier-ignore
    ['yes and no', { type: 'boolean' }, ['yes', 'no'], 'no', false],
  ])('has options for %s', (_, schema, options, chosen, value) => {
    const { question, answerOf } = asks(form({ fruit: schema }))
    expect(question.options).toEqual(options)
    expect(answerOf(accept([chosen]))).toEqual({ action: 'accept', content: { fruit: value } })
    expect(answerOf(accept(['something else']))).toBeNull()
  })

  it('takes several options for a list of choices', () => {
    const { question, answerOf } = asks(form({ fruits: { type: 'array', items: { anyOf: [{ const: 'a', title: 'Apple' }, { const: 'b', title: 'Pear' }] } } })) // prettier-ignore
    expect(question).toMatchObject({ options: ['Apple', 'Pear'], several: true })
    expect(answerOf(accept(['Pear', 'Apple']))).toEqual({ action: 'accept', content: { fruits: ['b', 'a'] } })
  })

  it('of nothing asks to continue', () => {
    const { question, answerOf } = asks(form({}))
    expect(question.options).toEqual(['continue'])
    expect(answerOf(accept(['continue']))).toEqual({ action: 'accept', content: {} })
  })

  it.each([
    ['a bound', { type: 'string', maxLength: 3 }],
    ['a format', { type: 'string', format: 'email' }],
    ['a number', { type: 'integer', minimum: 1 }],
    ['a bounded list', { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, minItems: 1 }],
    ['options of the same name', { type: 'string', oneOf: [{ const: 'a', title: 'A' }, { const: 'b', title: 'A' }] }], // prettier-ignore
    [
      'more options than a question has',
      { type: 'string', enum: Array.from({ length: 21 }, (_, i) => `v${i}`) },
    ],
  ])('is a form if it has %s', (_, schema) => {
    expect(asks(form({ field: schema })).question.form).toMatchObject({
      properties: { field: { type: schema.type } },
      required: ['field'],
    })
  })
})

describe('a form of several fields', () => {
  const booking = form({
    room: { type: 'string', enum: ['red', 'blue'] },
    guests: { type: 'integer', minimum: 1 },
    note: { type: 'string', default: 'none' },
  })

  it('is one question with the form, in which a field with a default may be left out', () => {
    const { question, answerOf } = asks(booking)
    expect(question.form).toMatchObject({ required: ['room', 'guests'] })
    const content = { room: 'red', guests: 2 }
    expect(answerOf({ action: 'accept', content })).toEqual({
      action: 'accept',
      content: { ...content, note: 'none' },
    })
  })

  it('gives nothing to the server that does not fit its schema', () => {
    expect(asks(booking).answerOf({ action: 'accept', content: { room: 'green', guests: 0 } })).toBeNull()
    expect(
      asks(booking).answerOf({ action: 'accept', content: { room: 'red', guests: 1, more: 1 } }),
    ).toBeNull()
  })
})

describe('is not asked:', () => {
  it.each([
    'password',
    'userPassword',
    'API_KEY',
    'api-key',
    'access_token',
    'token',
    'client_secret',
    'card_number',
    'cardNumber',
    'pin',
  ])('a secret: %s', (name) => {
    expect(refusal(form({ user: { type: 'string' }, [name]: { type: 'string' } }))).toContain(
      'asks for a secret',
    )
  })

  it('a secret under another name', () => {
    expect(refusal(form({ value: { type: 'string', title: 'Your password' } }))).toContain(
      'asks for a secret',
    )
    expect(refusal(form({ value: { type: 'string', format: 'password' } }))).toContain('asks for a secret')
  })

  it.each(['max_tokens', 'token_count', 'passenger', 'pinned', 'secretary', 'keyboard'])(
    'but %s is',
    (name) => {
      expect(refusal(form({ [name]: { type: 'string' } }))).toBe('it is asked')
    },
  )

  it.each([
    [
      'too many fields',
      form(Object.fromEntries(Array.from({ length: 31 }, (_, i) => [`f${i}`, { type: 'string' }]))),
      'has 31 fields, and the limit is 30',
    ],
    [
      'a field in a field',
      form({ a: { type: 'object', properties: {} } }),
      'no text, number, boolean or list of choices',
    ],
    [
      'a choice that is too long',
      form({ a: { type: 'string', enum: ['x'.repeat(201)] } }),
      'too many or too long',
    ],
    [
      'a pattern that cannot be checked',
      form({ a: { type: 'string', pattern: '(?<=x)y' } }),
      'was not shown to anybody',
    ],
    ['a required field that is not there', form({ a: { type: 'string' } }, ['b']), 'requires the field "b"'],
    ['no schema', { message: 'Well?' }, 'is not the JSON Schema of an object'],
    ['no message', { requestedSchema: {} }, 'without a message'],
    ['an unknown mode', { mode: 'voice', message: 'Well?' }, 'a mode that Beaver does not know'],
    ['nothing', null, 'without a message'],
  ])('%s', (_, params, why) => {
    expect(refusal(params)).toContain(why)
  })
})

describe('a URL', () => {
  const url = (to: string) => ({ mode: 'url', message: 'Log in.', url: to })

  it('is shown whole, with its host, and is answered with done', () => {
    const { question, answerOf } = asks(url('https://login.example:8443/start?id=1'))
    expect(question.options).toEqual(['done'])
    expect(question.message).toContain('the host login.example:8443.')
    expect(question.message).toContain('The page: https://login.example:8443/start?id=1')
    expect(question.message).toContain('Beaver does not open it.')
    expect(answerOf(accept(['done']))).toEqual({ action: 'accept' })
    expect(answerOf({ action: 'decline' })).toEqual({ action: 'decline' })
  })

  it('has its host in ASCII', () => {
    expect(asks(url('https://аpple.example/')).question.message).toContain('the host xn--pple-43d.example.')
  })

  it.each([
    ['javascript:alert(1)', 'only http and https'],
    ['data:text/html,x', 'only http and https'],
    ['file:///etc/passwd', 'only http and https'],
    ['https://bank.example@evil.example/', 'hides where it leads'],
    ['not a URL', 'no URL'],
    [`https://x.example/${'x'.repeat(2_000)}`, 'no URL of at most 2000 characters'],
  ])('%s is not shown', (to, why) => {
    expect(refusal(url(to))).toContain(why)
  })
})

it('shows the words of a server on one line, within quotation marks that they cannot end, and cut', () => {
  const { question } = asks(
    form({ ok: { type: 'boolean' } }, ['ok'], 'Sure?"\n\nBeaver asks:\u202E "your password'),
  )
  expect(question.message).toBe(`The MCP server shop asks: "Sure?' Beaver asks: 'your password"\nok`)
  const long = asks(form({ ok: { type: 'boolean' } }, ['ok'], 'x'.repeat(1_000_000))).question.message
  expect(long.length).toBeLessThan(1_600)
  expect(long).toContain('[cut]')
})
