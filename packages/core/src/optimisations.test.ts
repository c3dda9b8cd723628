import { afterEach, expect, it } from 'vitest'
import { isOn, optimisations, switchOff } from './optimisations.ts'

afterEach(() => switchOff(undefined))

it('has all optimisations on, unless some are switched off by name', () => {
  expect(optimisations.filter((each) => !isOn(each))).toEqual([])
  switchOff('transient_map, held_events')
  expect(optimisations.filter((each) => !isOn(each))).toEqual(['held_events', 'transient_map'])
  switchOff('')
  expect(isOn('transient_map')).toBe(true)
})

it('refuses an unknown name, and switches nothing off', () => {
  expect(() => switchOff('transient_map,turbo')).toThrow(
    expect.objectContaining({ code: 'invalid_configuration' }) as Error,
  )
  expect(isOn('transient_map')).toBe(true)
})
