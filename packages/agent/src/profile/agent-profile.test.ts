import { describe, expect, it, test } from 'vitest'
import { readProfile } from './agent-profile.ts'

const whole = {
  name: 'analyst',
  description: 'Compares figures.',
  system_prompt: 'You compare figures.',
  max_tool_iterations: 30,
  repeats_max: 7,
  model_settings: { temperature: 0.2 },
  tool_ids_inventory: ['system:read_file', 'workflow:summarize_text'],
}

describe('a profile', () => {
  it('is read whole', () => {
    expect(readProfile(whole)).toEqual({
      profile: {
        name: 'analyst',
        description: 'Compares figures.',
        systemPrompt: 'You compare figures.',
        maxToolIterations: 30,
        repeatsMax: 7,
        modelSettings: { temperature: 0.2 },
        toolIds: ['system:read_file', 'workflow:summarize_text'],
      },
      diagnostics: [],
    })
  })

  it('needs no more than a name; an empty inventory is not the same as none', () => {
    expect(readProfile({ name: ' a ' }).profile).toEqual({
      name: 'a',
      description: null,
      systemPrompt: null,
      maxToolIterations: null,
      toolIds: null,
    })
    expect(readProfile({ name: 'a', repeats_max: null }).profile).toMatchObject({ repeatsMax: null })
    expect(readProfile({ name: 'a', tool_ids_inventory: [] }).profile?.toolIds).toEqual([])
    expect(readProfile({ name: 'a', system_prompt: ' \n' }).profile?.systemPrompt).toBeNull()
  })

  it('with a field nobody knows is used without it, and says so', () => {
    const { profile, diagnostics } = readProfile({ ...whole, systemPrompt: 'x', constructor: 1 })
    expect(profile?.name).toBe('analyst')
    expect(diagnostics.map(({ code, path }) => [code, path])).toEqual([
      ['unknown_field', 'systemPrompt'],
      ['unknown_field', 'constructor'],
    ])
    expect(diagnostics[0]?.message).toContain('system_prompt')
  })

  test.each<[string, unknown, string[]]>([
    ['no name', { tool_ids_inventory: [] }, ['name']],
    ['an empty name', { ...whole, name: '  ' }, ['name']],
    [
      'an inventory that is a text',
      { ...whole, tool_ids_inventory: 'system:read_file' },
      ['tool_ids_inventory'],
    ],
    ['an id that is no text', { ...whole, tool_ids_inventory: ['system:a', 5] }, ['tool_ids_inventory.1']],
    ['a bound of repeats that ends every run', { ...whole, repeats_max: 1 }, ['repeats_max']],
    ['no iterations at all', { ...whole, max_tool_iterations: 0 }, ['max_tool_iterations']],
    [
      'a setting that no model has',
      { ...whole, model_settings: { temperature: 9 } },
      ['model_settings.temperature'],
    ],
    ['half an iteration', { ...whole, max_tool_iterations: 1.5 }, ['max_tool_iterations']],
    ['several faults', { name: 1, system_prompt: 2 }, ['name', 'system_prompt']],
    ['null', null, ['']],
    ['a list', [whole], ['']],
    ['a text', 'analyst', ['']],
  ])('with %s is not used, and says where', (_, json, paths) => {
    const { profile, diagnostics } = readProfile(json)
    expect(profile).toBeNull()
    expect(diagnostics.map(({ code, path }) => [code, path])).toEqual(
      paths.map((path) => ['invalid_profile', path]),
    )
    for (const { message, path } of diagnostics) expect(message).toContain(path)
  })
})
