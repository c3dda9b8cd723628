import { afterEach, expect, it } from 'vitest'
import { isOn, optimisations, switchOff } from './optimisations.ts'

afterEach(() => switchOff(undefined))

it('has all optimisations on, unless some are switched off by name', () => {
  expect(optimisations.filter((each) => !isOn(each))).toEqual([])
  switchOff('v8_flags, held_events')
  expect(optimisations.filter((each) => !isOn(each))).toEqual(['held_events', 'v8_flags'])
  switchOff('')
  expect(isOn('v8_flags')).toBe(true)
})

it('refuses an unknown name, and switches nothing off', () => {
  expect(() => switchOff('v8_flags,turbo')).toThrow(
    expect.objectContaining({ code: 'invalid_configuration' }) as Error,
  )
  expect(isOn('v8_flags')).toBe(true)
})
