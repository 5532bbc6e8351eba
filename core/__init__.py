"""What stages share.

MindSpore logs a lot at WARNING; the level is read once, when it is first imported, so the default is set here, before any module of this package can
import it. A GLOG_v in the environment wins.
"""

import os

os.environ.setdefault("GLOG_v", "3")  # 3: errors only
