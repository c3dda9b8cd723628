import { describe, expect, it } from 'vitest'
import { emptyForm, formOf, refusedAt, startRequest } from './start-request.ts'

describe('the request of a new task', () => {
  it('has what the person wrote, and nothing else', () =>
    expect(
      startRequest(
        { ...emptyForm, text: ' Report on sales ', profile: 'analyst', usd: '0.5', stream: false },
        null,
      ),
    ).toEqual({ body: { task: 'Report on sales', profile: 'analyst', budget: { usd: 0.5 } } }))

  it('has images of the folder and of the person, a schema of the answer, and a time', () =>
    expect(
      startRequest(
        {
          ...emptyForm,
          text: 'Read it',
          imagePaths: 'a.png\n\n b.png ',
          images: [{ name: 'c.png', data: 'AA==' }],
          schema: '{"type":"object"}',
          minutes: '1.5',
          stream: false,
        },
        null,
      ),
    ).toEqual({
      body: {
        task: 'Read it',
        images: ['a.png', 'b.png', { name: 'c.png', data: 'AA==' }],
        output_schema: { type: 'object' },
        budget: { wall_ms: 90_000 },
      },
    }))

  it('of a workflow has its arguments, and nothing of a root agent', () =>
    expect(
      startRequest(
        {
          ...emptyForm,
          text: 'left over',
          workflow: 'GraphWorkflow',
          profile: 'analyst',
          model: 'small',
          imagePaths: 'a.png',
          schema: 'no JSON',
          tokens: '1000',
        },
        { task: 'Compare', agents: [] },
      ),
    ).toEqual({
      body: {
        workflow: { name: 'GraphWorkflow', arguments: { task: 'Compare', agents: [] } },
        budget: { tokens: 1000 },
        stream: true,
      },
    }))

  it.each([
    [{}, 'text'],
    [{ text: 'x', usd: 'much' }, 'usd'],
    [{ text: 'x', usd: '0' }, 'usd'],
    [{ text: 'x', tokens: '1.5' }, 'tokens'],
    [{ text: 'x', minutes: '-1' }, 'minutes'],
    [{ text: 'x', schema: '[]' }, 'schema'],
    [{ text: 'x', schema: '{' }, 'schema'],
  ])('is refused at its field: %o', (change, field) =>
    expect(startRequest({ ...emptyForm, ...change }, null)).toEqual({
      faults: { [field]: expect.stringMatching(/\.$|…/) },
    }),
  )
})

describe('a refusal of the gateway', () => {
  const message = 'The whole sentence.'
  it.each([
    ['body.budget.usd', { usd: message }],
    ['workspace', { workspace: message }],
    ['body.output_schema.type', { schema: message }],
    ['images.0', { images: message }],
    ['workflow', { workflow: message }],
  ])('about %s is at its field', (path, form) =>
    expect(refusedAt({ message, problems: [{ path, message: 'is wrong' }] })).toEqual({
      form,
      arguments: {},
      rest: null,
    }),
  )

  it('about an argument is at the argument', () =>
    expect(
      refusedAt({
        message,
        problems: [
          { path: 'workflow.arguments.agents.0.name', message: 'is missing.' },
          { path: 'body.model', message: 'is too long.' },
        ],
      }),
    ).toEqual({
      form: { model: 'body.model is too long.' },
      arguments: { agents: 'workflow.arguments.agents.0.name is missing.' },
      rest: null,
    }))

  it('about no field is said for the whole form', () => {
    expect(refusedAt({ message, problems: [] }).rest).toBe(message)
    expect(refusedAt({ message, problems: [{ path: 'headers.accept', message: 'x' }] }).rest).toBe(message)
  })
})

it('asks for the same again', () => {
  const asked = {
    text: 'Report',
    title: 'Sales',
    skill: null,
    profile: 'analyst',
    workspace: '/work',
    budget: { usd: 1, wall_ms: 60_000 },
  }
  const { form } = formOf(asked)
  expect(startRequest(form, null)).toEqual({
    body: {
      task: 'Report',
      title: 'Sales',
      profile: 'analyst',
      workspace: '/work',
      budget: { usd: 1, wall_ms: 60_000 },
      stream: true,
    },
  })
  const again = formOf({ text: 'made of it', workflow: { name: 'Sum', arguments: { a: 1 } } })
  expect([again.form.workflow, again.form.text, again.arguments]).toEqual(['Sum', '', { a: 1 }])
})
