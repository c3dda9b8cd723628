export { type FigurePlace, figurePlaces, figureStands } from '../figures-of-report.ts'
