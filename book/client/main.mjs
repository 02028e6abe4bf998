// What every page does in the browser. Nothing here is needed to read.

import { offerCopies } from './copy.mjs'
import { openContents } from './drawer.mjs'
import { showPassed } from './passed.mjs'
import { pickAnswers } from './pick.mjs'
import { markPlace, showProgress } from './place.mjs'
import { predict } from './predict.mjs'
import { keepTheme } from './theme.mjs'
import { search } from './search.mjs'
import { turnPages } from './turn.mjs'
import { showPair } from './pair.mjs'
import { walk } from './walk.mjs'
import { runWidgets } from './widgets.mjs'
import { yoursBesideOurs } from './yours.mjs'

keepTheme()
search()
turnPages()
showPair()
walk()
runWidgets()
yoursBesideOurs()
offerCopies()
openContents()
markPlace()
predict()
pickAnswers()
showPassed()
showProgress()
