import sys

from config.local.run import main

sys.exit(main())
