import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { defineProfile, defineWorkflow, type WorkflowInput, writeDefinitions } from './definitions.ts'

const greet: WorkflowInput = {
  id: 'greet',
  description: 'Greets a person. Choose it when someone is to be greeted.',
  interfaceInputs: { name: { dataFlowType: 'STRING', required: true } },
  interfaceOutputs: { greeting: { dataFlowType: 'STRING' } },
  nodes: [{ id: 'greeting', kind: 'template', template: 'Hello {{ inputs.name }}.' }],
}

describe('defineProfile', () => {
  it('returns a valid profile', () => {
    const profile = { name: 'clerk', tool_ids_inventory: ['system:read_file'] }
    expect(defineProfile(profile)).toBe(profile)
  })

  it('refuses wrong values and unknown fields where they are written', () => {
    expect(() => defineProfile({ name: '' })).toThrow(
      'The profile "" is not valid: "name": must not be empty.',
    )
    const misspelt = { name: 'clerk', tools: [] }
    expect(() => defineProfile(misspelt)).toThrow(
      expect.objectContaining({
        code: 'invalid_configuration',
        message: expect.stringContaining('"tools"') as string,
      }),
    )
  })
})

describe('defineWorkflow', () => {
  it('returns a valid workflow', () => expect(defineWorkflow(greet)).toBe(greet))

  it('refuses a fault with its place', () => {
    const wrong = {
      ...greet,
      nodes: [{ id: 'greeting', kind: 'template' as const, template: '{{ inputs.nmae }}' }],
    }
    expect(() => defineWorkflow(wrong)).toThrow(
      expect.objectContaining({
        code: 'invalid_configuration',
        problems: [expect.objectContaining({ path: 'nodes.0.template' }) as object],
      }),
    )
  })

  it('refuses an id that cannot be a file name', () => {
    for (const id of ['', '../greet', 'a/b', '.hidden', 'a'.repeat(65)])
      expect(() => defineWorkflow({ ...greet, id })).toThrow('The id')
  })
})

describe('the files of a program', () => {
  let home: string
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'beaver-program-'))
  })
  afterEach(() => rmSync(home, { recursive: true }))

  it('contain the definitions of the service, and none of an earlier one', () => {
    writeDefinitions(home, { profiles: [{ name: 'a' }, { name: 'b' }], workflows: [{ ...greet, id: 'old' }] })
    const places = writeDefinitions(home, { profiles: [{ name: 'c' }], workflows: [greet] })
    expect(places.profiles.map((file) => JSON.parse(readFileSync(file, 'utf8')) as unknown)).toEqual([
      { name: 'c' },
    ])
    expect(places.workflows.flatMap((folder) => readdirSync(folder))).toEqual(['greet.json'])
    const { id: _, ...file } = greet
    expect(JSON.parse(readFileSync(join(places.workflows[0]!, 'greet.json'), 'utf8'))).toEqual(file)
  })

  it('do not exist for a service without definitions', () => {
    expect(writeDefinitions(home, { profiles: [], workflows: [] })).toEqual({ profiles: [], workflows: [] })
  })
})
