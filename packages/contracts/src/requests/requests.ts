// The table of requests: what any daemon answers, by name, at `beaver.<namespace>.service.<name>`.
import type { z } from 'zod'
import type { Contract } from '../contract.ts'
import { answer } from './answer.ts'
import { cancel } from './cancel.ts'
import { decide } from './decide.ts'
import { memory } from './memory.ts'
import { retry } from './retry.ts'
import { status } from './status.ts'
import { storeImage } from './store-image.ts'
import { steer } from './steer.ts'
import { run, submit } from './submit.ts'

const table = {
  'task.submit': submit,
  'task.run': run,
  'task.cancel': cancel,
  'task.steer': steer,
  'task.decide': decide,
  'task.answer': answer,
  'task.retry': retry,
  'image.store': storeImage,
  memory,
  status,
} as const

export type RequestName = keyof typeof table
type Asked = { [Name in RequestName]: z.input<(typeof table)[Name]['input']> }
type Read = { [Name in RequestName]: z.output<(typeof table)[Name]['input']> }
type Answers = { [Name in RequestName]: z.output<(typeof table)[Name]['output']> }
/** What the one who asks writes. */
export type RequestInput<Name extends RequestName> = Asked[Name]
/** What the daemon reads: defaults are filled in. */
export type RequestRead<Name extends RequestName> = Read[Name]
export type RequestOutput<Name extends RequestName> = Answers[Name]

/**
 * The contracts of all requests. Indexed by a type parameter, the input and the output belong to the same
 * request.
 */
export const requestContracts: {
  readonly [Name in RequestName]: Contract<RequestInput<Name>, RequestRead<Name>, RequestOutput<Name>>
} = table
