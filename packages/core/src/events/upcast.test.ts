import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../json.ts'
import { eventVersions, upcasts } from './upcast.ts'

const renamed = (data: unknown): JsonObject => ({ owner: (data as { daemon: string }).daemon })
const counted = (data: unknown): JsonObject => ({ ...(data as JsonObject), claims: 1 })
const versions = eventVersions({ task_claimed: [renamed, counted] })

describe('a type with two later versions', () => {
  it('is written in the newest version', () =>
    expect(versions.wireTypeOf('task_claimed')).toBe('beaver.task_claimed.v3'))

  it.each([
    ['beaver.task_claimed.v1', { daemon: 'd1' }],
    ['beaver.task_claimed.v2', { owner: 'd1' }],
    ['beaver.task_claimed.v3', { owner: 'd1', claims: 1 }],
  ])('is read from %s in the shape of the newest version', (wireType, data) => {
    expect(versions.eventTypeOf(wireType)).toBe('task_claimed')
    expect(versions.newest(wireType, data)).toEqual({ owner: 'd1', claims: 1 })
  })

  it('has no known type for a version that a newer Beaver wrote', () =>
    expect(versions.eventTypeOf('beaver.task_claimed.v4')).toBeNull())
})

it('a type without steps has one version', () => {
  expect(versions.wireTypeOf('task_released')).toBe('beaver.task_released.v1')
  expect(versions.eventTypeOf('beaver.task_released.v2')).toBeNull()
})

it.each([
  'beaver.__proto__.v1',
  'beaver.constructor.v1',
  'task_claimed',
  'xbeaver.task_claimed.v1',
  'beaver.task_claimed.v0',
  'beaver.task_claimed.v01',
])('%s is not a type', (wireType) => expect(eventVersions().eventTypeOf(wireType)).toBeNull())

it('each type has only one version so far, that of the golden journal', () => expect(upcasts).toEqual({}))
